package import FerryCore

/// A page of metrics in the text format of Prometheus, version 0.0.4.
///
/// ```
/// # HELP ferry_gateway_read_total Notifications that were read.
/// # TYPE ferry_gateway_read_total counter
/// ferry_gateway_read_total{client="shop"} 12
/// ```
///
/// Add all series of one metric in one call, because the format requires that they follow each other.
package struct MetricsText {
    package static let contentType = "text/plain; version=0.0.4; charset=utf-8"

    package enum Kind: String {
        case counter, gauge
    }

    /// One value with the labels that distinguish the series from the other series of the same metric.
    package struct Series {
        package var labels: [(name: String, value: String)]
        package var value: Double

        package init(_ value: Double, _ labels: [(name: String, value: String)] = []) {
            self.labels = labels
            self.value = value
        }

        package init(_ value: Int, _ labels: [(name: String, value: String)] = []) {
            self.init(Double(value), labels)
        }
    }

    private(set) var text = ""

    package init() { self.text.reserveCapacity(16_384) }

    package var bytes: [UInt8] { Array(self.text.utf8) }

    /// Adds a metric with one series, without labels.
    package mutating func add(_ kind: Kind, _ name: String, _ help: String, _ value: Int) {
        self.add(kind, name, help, [Series(value)])
    }

    /// Adds a metric with its series. Without series nothing is added.
    package mutating func add(_ kind: Kind, _ name: String, _ help: String, _ series: [Series]) {
        guard !series.isEmpty else { return }
        self.begin(name, help, kind.rawValue)
        for one in series { self.write(name, one.labels, Self.number(one.value)) }
    }

    /// Adds a histogram of times, in seconds.
    package mutating func add(
        _ name: String,
        _ help: String,
        _ series: [(labels: [(name: String, value: String)], times: TimeHistogram)]
    ) {
        guard !series.isEmpty else { return }
        self.begin(name, help, "histogram")
        for (labels, times) in series {
            var count = 0
            for (bucket, bound) in TimeHistogram.bounds.enumerated() {
                count += times.counts[bucket]
                self.write("\(name)_bucket", labels + [("le", Self.number(Double(bound) / 1e9))], "\(count)")
            }
            self.write("\(name)_bucket", labels + [("le", "+Inf")], "\(times.count)")
            self.write("\(name)_sum", labels, Self.number(Double(times.sum) / 1e9))
            self.write("\(name)_count", labels, "\(times.count)")
        }
    }

    private mutating func begin(_ name: String, _ help: String, _ kind: String) {
        self.text += "# HELP \(name) \(Self.escaped(help, quotes: false))\n# TYPE \(name) \(kind)\n"
    }

    private mutating func write(_ name: String, _ labels: [(name: String, value: String)], _ value: String) {
        self.text += name
        if !labels.isEmpty {
            self.text += "{"
            for (index, label) in labels.enumerated() {
                self.text += "\(index == 0 ? "" : ",")\(label.name)=\"\(Self.escaped(label.value, quotes: true))\""
            }
            self.text += "}"
        }
        self.text += " \(value)\n"
    }

    /// Returns a number as text. A whole number has no fraction, so that a counter looks like a count.
    private static func number(_ value: Double) -> String {
        if let whole = Int(exactly: value) { return "\(whole)" }
        return value.isNaN ? "NaN" : value.isInfinite ? (value < 0 ? "-Inf" : "+Inf") : "\(value)"
    }

    /// Escapes each backslash and line feed, and each quotation mark in a label. Otherwise the name of a client could
    /// forge a line.
    private static func escaped(_ text: String, quotes: Bool) -> String {
        var escaped = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\\": escaped += "\\\\"
            case "\n": escaped += "\\n"
            case "\"" where quotes: escaped += "\\\""
            default: escaped.unicodeScalars.append(scalar)
            }
        }
        return escaped
    }
}

internal import Ferry
internal import FerryTerminal

/// The report of a migration, for people and as JSON.
struct MigrationTable {
    var report: MigrationReport

    /// A table with a column for each protocol.
    var text: String {
        let (binary, http2) = (self.report.life.binary, self.report.life.http2)
        func row(_ name: String, _ value: (MigrationReport.Side) -> String) -> [String] {
            [name, value(binary), value(http2)]
        }
        let rows = [
            ["\(Self.percent(self.report.share / 100)) over HTTP/2", "binary", "HTTP/2"],
            row("accepted, confirmed") { "\($0.outcomes.confirmed)" },
            row("accepted, presumed") { "\($0.outcomes.presumed)" },
            row("contradicted") { "\($0.contradicted)" },
            row("rejected") { "\($0.outcomes.rejected)" },
            row("undelivered, expired") { "\($0.outcomes.undelivered + $0.outcomes.expired)" },
            row("uncertain") { "\($0.outcomes.uncertain)" },
            row("taken, because the other side cannot") { "\($0.forced)" },
            row("went over to the other side") { "\($0.wentOver)" },
            row("acceptance, 95 % interval") { Self.rate($0.acceptanceRate) },
            row("dead devices, 95 % interval") { Self.rate($0.deadDeviceRate) },
            row("until written, p50 and p99 at most") { Self.times($0.timeToWrite) },
            row("from there to the answer") { Self.times($0.timeToAnswer) },
            row("from there to presumed") { Self.times($0.timeToPresume) },
        ]
        return TextTable(rows: rows, alignment: [.left, .right, .right]).description
            + "\nThe devices of the two sides differ, and so may their rates."
    }

    private static func rate(_ rate: MigrationRate) -> String {
        guard let interval = rate.interval else { return "-" }
        return "\(self.percent(interval.lowerBound)) to \(self.percent(interval.upperBound))"
    }

    private static func percent(_ part: Double) -> String {
        let hundredths = Int((part * 10_000).rounded())
        let fraction = hundredths % 100
        return "\(hundredths / 100).\(fraction < 10 ? "0" : "")\(fraction) %"
    }

    private static func times(_ histogram: DurationHistogram) -> String {
        guard histogram.count > 0 else { return "-" }
        return [0.5, 0.99].map { histogram.quantile($0).map(self.milliseconds) ?? "over 8 s" }.joined(separator: ", ")
    }

    private static func milliseconds(_ duration: Duration) -> String {
        let microseconds = Int((duration / .microseconds(1)).rounded())
        return microseconds < 1000 ? "\(microseconds) µs" : "\((microseconds + 500) / 1000) ms"
    }

    /// One JSON object, in one line.
    var json: String {
        #"{"share":\#(self.report.share),"binary":\#(Self.json(self.report.life.binary)),"#
            + #""http2":\#(Self.json(self.report.life.http2))}"#
    }

    private static func json(_ side: MigrationReport.Side) -> String {
        let outcomes = side.outcomes
        return #"{"accepted":{"confirmed":\#(outcomes.confirmed),"presumed":\#(outcomes.presumed)},"#
            + #""contradicted":\#(side.contradicted),"rejected":\#(outcomes.rejected),"expired":\#(outcomes.expired),"#
            + #""undelivered":\#(outcomes.undelivered),"uncertain":\#(outcomes.uncertain),"#
            + #""forced":\#(side.forced),"wentOver":\#(side.wentOver),"#
            + #""acceptance":\#(self.json(side.acceptanceRate)),"deadDevices":\#(self.json(side.deadDeviceRate)),"#
            + #""msToWrite":\#(self.json(side.timeToWrite)),"msToAnswer":\#(self.json(side.timeToAnswer)),"#
            + #""msToPresume":\#(self.json(side.timeToPresume))}"#
    }

    private static func json(_ rate: MigrationRate) -> String {
        let interval = rate.interval.map { "[\($0.lowerBound),\($0.upperBound)]" } ?? "null"
        return #"{"count":\#(rate.count),"of":\#(rate.total),"interval95":\#(interval)}"#
    }

    private static func json(_ histogram: DurationHistogram) -> String {
        func quantile(_ part: Double) -> String {
            histogram.quantile(part).map { "\($0 / .milliseconds(1))" } ?? "null"
        }
        return #"{"count":\#(histogram.count),"p50":\#(quantile(0.5)),"p99":\#(quantile(0.99))}"#
    }
}

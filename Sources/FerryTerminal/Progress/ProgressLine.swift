/// The line of a progress. No I/O: the time is an argument.
package struct ProgressLine {
    /// The number of characters between the brackets of the bar.
    static let barLength = 20
    /// The longest line of a terminal. A longer one would wrap, and its first row would stay.
    static let width = 79
    /// The time from the start to the first estimate of the remaining time.
    private static let settling: Duration = .seconds(1)

    private let start: ContinuousClock.Instant
    private var last: (time: ContinuousClock.Instant, count: Int)

    package init(at start: ContinuousClock.Instant) {
        self.start = start
        self.last = (start, 0)
    }

    /// Returns the line of a terminal, with a bar if the size is known.
    package mutating func bar(_ progress: WorkProgress, at now: ContinuousClock.Instant) -> String {
        let bar = progress.fraction.map { fraction in
            let filled = Int((Self.whole(fraction) * Double(Self.barLength)).rounded(.down))
            return "[\(String(repeating: "#", count: filled))\(String(repeating: " ", count: Self.barLength - filled))]"
        }
        let line = ([bar].compactMap { $0 } + self.parts(progress, at: now)).joined(separator: "  ")
        return String(line.prefix(Self.width))
    }

    /// Returns the line of a file, without a bar.
    package mutating func sentence(_ progress: WorkProgress, at now: ContinuousClock.Instant) -> String {
        self.parts(progress, at: now).joined(separator: ", ")
    }

    /// Percent, rate, time left, and the words.
    private mutating func parts(_ progress: WorkProgress, at now: ContinuousClock.Instant) -> [String] {
        var parts: [String] = []
        if let fraction = progress.fraction { parts.append("\(Int((Self.whole(fraction) * 100).rounded(.down))) %") }
        if let count = progress.count {
            parts.append("\(self.rate(count, at: now)) a second")
            if let fraction = progress.fraction, let left = self.left(fraction, at: now) { parts.append(left) }
        }
        return parts + progress.words
    }

    /// The rate since the last line, or since the start, in counts per second.
    private mutating func rate(_ count: Int, at now: ContinuousClock.Instant) -> Int {
        let seconds = (now - self.last.time) / .seconds(1)
        defer { self.last = (now, count) }
        return seconds > 0 ? Int(Double(count - self.last.count) / seconds) : 0
    }

    /// Returns the remaining time at the average speed so far; nil if no estimate is possible.
    private func left(_ fraction: Double, at now: ContinuousClock.Instant) -> String? {
        let elapsed = now - self.start
        guard elapsed >= Self.settling, fraction > 0, fraction < 1 else { return nil }
        let seconds = (elapsed / .seconds(1)) * (1 - fraction) / fraction
        // An estimate of a year or more says nothing.
        guard seconds < 366 * 86_400 else { return nil }
        let whole = Int(seconds.rounded(.up))
        switch whole {
        case ..<60: return "\(whole) s left"
        case ..<3600: return "\(whole / 60) min left"
        default: return "\(whole / 3600) h \(whole % 3600 / 60) min left"
        }
    }

    /// The fraction, limited to 0 to 1.
    private static func whole(_ fraction: Double) -> Double { min(max(fraction, 0), 1) }
}

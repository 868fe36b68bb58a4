internal import FerryTerminal

/// `ferry push --dry-run`: reads and checks every line, and sends nothing.
struct DryRun {
    static let nothingSent = "nothing was sent: this was a dry run"

    private(set) var lines: LineInspector
    /// The error of reading the input.
    private(set) var failure: (any Error)?

    init(_ lines: LineInspector) {
        self.lines = lines
    }

    mutating func run() async {
        repeat {
            while self.lines.next() != nil {}
            do {
                guard !self.lines.endedBadly, try await self.lines.fill() else { return }
            } catch {
                self.failure = error
            }
        } while self.failure == nil
    }

    /// The best exit status that a real run could have.
    var status: ExitStatus {
        if self.failure != nil || self.lines.endedBadly { return .badUsage }
        return self.lines.badCount + self.lines.refusedCount > 0 ? .notAllAccepted : .success
    }

    /// The findings, one sentence each.
    var sentences: [String] {
        var sentences = ["\(Self.nothingSent); \(self.findings)"]
        if self.lines.endedBadly {
            sentences.append("ferry: Line \(self.lines.count) is bad; nothing after it was read.")
        }
        if let failure { sentences.append("ferry: The input cannot be read: \(failure)") }
        return sentences
    }

    /// The number of lines of each kind: "3 lines are good, 1 is bad".
    private var findings: String {
        let good = self.lines.goodCount - self.lines.refusedCount
        var findings = [good == 1 ? "1 line is good" : "\(good) lines are good"]
        let bad = self.lines.badCount
        if bad > 0 { findings.append(bad == 1 ? "1 is bad" : "\(bad) are bad") }
        if self.lines.refusedCount > 0 { findings.append("\(self.lines.refusedCount) would be rejected") }
        return findings.joined(separator: ", ")
    }
}

internal import Ferry
internal import FerryPlatform
internal import FerryTerminal

/// One run of `ferry feedback`: from the first reading to the last.
struct FeedbackRun {
    var reader: FeedbackReader
    /// Whether the program shows a certificate.
    var hasIdentity: Bool
    /// The time from which tuples are written; nil for all tuples.
    var since: Date?
    var isJSON = false
    /// The hint that is given once if nothing has come for a while. A service may be slow, so the reading goes on.
    var hint: String?
    /// Whether to read the list repeatedly.
    var repeats = false
    /// Writes a line of the output.
    var write: @Sendable (String) throws(FileFailure) -> Void
    /// Receives messages for people.
    var say: @Sendable (String) -> Void = { Console.error($0) }

    private static let hintDelay: Duration = .seconds(2)

    /// The counts and faults so far.
    private struct Sums {
        var written = 0
        var older = 0
        var wasNotWhole = false
        var hadNoConnection = false

        var status: ExitStatus {
            self.wasNotWhole ? .notAllAccepted : self.hadNoConnection ? .noConnection : .success
        }
    }

    /// Reads the list once, or repeatedly until SIGINT, SIGTERM or SIGHUP. The first signal lets a reading finish,
    /// and the second closes it. In both cases the tuples so far are written.
    ///
    /// - Throws: ``CommandFailure`` when the output cannot be written.
    func run() async throws -> ExitStatus {
        let events = self.reader.events()
        let hinting = Task {
            guard let hint = self.hint else { return }
            try await Task.sleep(for: Self.hintDelay)
            self.say("ferry: \(hint)")
        }
        defer { hinting.cancel() }
        let reading = Task { try await self.read(events) { hinting.cancel() } }
        let (say, isRepeating) = (self.say, self.repeats)
        let signals = Signals { count in
            events.stop()
            if count > 1 {
                reading.cancel()
            } else if !isRepeating {
                say("ferry: interrupted; the list is read to its end, until you interrupt once more")
            }
        }
        defer { withExtendedLifetime(signals) {} }
        return try await reading.value
    }

    /// - Parameter onNews: called for each event.
    private func read(_ events: FeedbackEvents, onNews: () -> Void) async throws -> ExitStatus {
        var sums = Sums()
        var hasHeading = self.isJSON
        for await event in events {
            onNews()
            switch event {
            case .tuple(let tuple):
                if let since, tuple.time < since {
                    sums.older += 1
                    continue
                }
                if !hasHeading { try self.put(FeedbackLine.heading) }
                hasHeading = true
                try self.put(self.isJSON ? FeedbackLine.json(tuple) : FeedbackLine.row(tuple))
                sums.written += 1
            case .completed(let report):
                if !report.isWhole { sums.wasNotWhole = true }
                self.summarise(report, &sums)
            case .failed(let error):
                switch error.code {
                case .connectFailed, .connectTimeout, .credentialsRejected, .peerNotTrusted, .notFeedback:
                    sums.hadNoConnection = true
                    self.say("ferry: \(self.sentence(error))")
                default:
                    sums.wasNotWhole = true
                    self.say("ferry: \(error.message)")
                    self.summarise(error.report, &sums)
                }
            }
        }
        return sums.status
    }

    private func put(_ line: String) throws {
        do {
            try self.write(line)
        } catch {
            throw CommandFailure.usage("The result cannot be written: \(error). What was read and not written is lost.")
        }
    }

    /// Prints the summary: `ferry: 3 tokens, 1 older left out, 1 bad skipped`
    private func summarise(_ report: FeedbackReport, _ sums: inout Sums) {
        var parts = ["\(sums.written) \(sums.written == 1 ? "token" : "tokens")"]
        if sums.older > 0 { parts.append("\(sums.older) older left out") }
        if report.skipped > 0 { parts.append("\(report.skipped) bad skipped") }
        if report.truncatedBytes > 0 { parts.append("1 cut short and lost") }
        self.say("ferry: \(parts.joined(separator: ", "))")
        (sums.written, sums.older) = (0, 0)
    }

    private func sentence(_ error: FeedbackError) -> String {
        let code: ProviderError.Code = error.code == .credentialsRejected ? .credentialsRejected : .connectFailed
        let error = ProviderError(code, error.message, cause: error.cause)
        return ConnectionAdvice.sentence(error, hasIdentity: self.hasIdentity)
    }
}

internal import Ferry
internal import FerryCore
internal import FerryTerminal

/// The verdict on a run: the exit status, and the sentences that explain it.
struct PushVerdict {
    var summary: PushSummary
    var fed: LineFeeder.Result
    /// The error of reading the input.
    var inputFailure: (any Error)?
    var eventsFailure: FileFailure?
    /// The cause that ended the run before its input ended.
    var cause: PushStop.Cause?
    var connection: PushWatch.Connection
    /// The last rejection that concerned the provider's credentials.
    var refusal: Rejection?
    /// The reason why there was no provider token for a while.
    var lack: ProviderError?
    /// Whether the provider has a certificate.
    var hasIdentity = true
    /// Whether notifications of the binary protocol were not accepted, all of them because the peer closed
    /// connections.
    var isWithoutAnswer = false

    /// The most severe status of all findings, which is the highest number.
    var status: ExitStatus {
        let own: ExitStatus = self.summary.isAllAccepted ? .success : .notAllAccepted
        return self.findings.map(\.status).reduce(own, max)
    }

    /// The problems of the run, one sentence each. Notifications are left out; the summary has their outcomes.
    var complaints: [String] { self.findings.map(\.message) }

    private var findings: [CommandFailure] {
        var findings: [CommandFailure] = []
        if let inputFailure { findings.append(.usage("The input cannot be read: \(inputFailure)")) }
        if self.fed.endedBadly { findings.append(.usage("Line \(self.fed.lines) is bad; nothing after it was sent.")) }
        if let eventsFailure { findings.append(.usage("The events cannot be written: \(eventsFailure)")) }
        if case .failed(let error) = self.cause {
            findings.append(CommandFailure(.noConnection, self.sentence(error)))
        } else if self.summary.outcomes.undelivered > 0 {
            switch self.connection {
            case .made: break
            case .failed(let error): findings.append(CommandFailure(.noConnection, self.sentence(error)))
            case .none: findings.append(CommandFailure(.noConnection, "There was no connection when the run ended."))
            }
        }
        if let refusal, self.summary.outcomes.accepted == 0, !self.cause.isFailure {
            let reason = refusal.reason.explanation.map { ": \($0)" } ?? "."
            let clock = refusal.reason == .invalidProviderToken ? " Now \(ClockReading())." : ""
            let message = "APNs refuses the credentials, with the reason \(refusal.reason)\(reason)\(clock)"
            findings.append(CommandFailure(.noConnection, message))
        }
        if let lack, self.summary.outcomes.accepted == 0, self.summary.submitted > 0, !self.cause.isFailure {
            findings.append(CommandFailure(.noConnection, self.sentence(lack)))
        }
        if self.isWithoutAnswer, self.summary.outcomes.accepted == 0, self.cause == nil {
            let message =
                "No connection brought an answer: the peer closes each one without a word. \(ConnectionAdvice.wordlessPeers)"
            findings.append(CommandFailure(.notAllAccepted, message))
        }
        if let cause, !self.fed.endedBadly, let line = self.fed.interruptedAfter {
            let place = line == 0 ? "before the first line" : "after line \(line)"
            let word = if case .interrupted = cause { "Interrupted; stopped" } else { "The run stopped" }
            let message = "\(word) \(place). What follows was not sent."
            findings.append(CommandFailure(.notAllAccepted, message))
        }
        return findings
    }

    private func sentence(_ error: ProviderError) -> String {
        ConnectionAdvice.sentence(error, hasIdentity: self.hasIdentity)
    }
}

extension PushStop.Cause? {
    /// Whether an error of the provider ended the run. That error has a finding of its own.
    fileprivate var isFailure: Bool { if case .failed = self { true } else { false } }
}

package import FerryCore
package import NIOCore

/// The fate of a row that was taken from the queue.
package enum RowFate: Hashable, Sendable {
    /// The row is removed, and its outcome is written. The configuration can leave out outcomes with the word
    /// `accepted`.
    case done(Ending)
    /// The row stays and is due after a while. `attempts` grows.
    case again(after: TimeAmount)
    /// The row stays, and is not due for a minute. `attempts` does not grow.
    case hidden
    /// The row stays as it is.
    case left

    /// The outcome that the application reads.
    package struct Ending: Hashable, Sendable {
        package var word: Word
        /// The HTTP status of APNs' answer; nil if APNs did not answer.
        package var status: Int16?
        /// The reason of a rejection, in APNs' words or as one of Ferry's own (``Refusal``). For `uncertain`, the
        /// cause in the connection. Otherwise nil.
        package var reason: String?

        package init(_ word: Word, status: Int16? = nil, reason: String? = nil) {
            self.word = word
            self.status = status
            self.reason = reason
        }
    }

    /// The words of the column `word`.
    package enum Word: String, CaseIterable, Sendable {
        case accepted
        case rejected
        /// `expires` passed before the push was sent.
        case expired
        /// An earlier row of the client had the same key. This row was not sent.
        case duplicate
        /// The push may have arrived.
        case uncertain
    }

    /// The waits after an answer that says that APNs is busy or has failed. Apple asks for 15 minutes after a status
    /// 5xx. The wait doubles with each attempt until it is that long.
    static let busyWaits: (first: TimeAmount, last: TimeAmount) = (.seconds(10), .minutes(15))
    /// The waits after an attempt that ended without an answer of APNs. The wait doubles with each attempt.
    static let otherWaits: (first: TimeAmount, last: TimeAmount) = (.seconds(1), .minutes(1))

    /// - Parameters:
    ///   - attempts: the number of attempts before this one.
    ///   - repeatsUnknown: whether a push that may have arrived is sent once more, if the attempt was the first.
    package init(_ outcome: Outcome, attempts: Int, repeatsUnknown: Bool) {
        func again(_ waits: (first: TimeAmount, last: TimeAmount)) -> RowFate {
            .again(after: min(.nanoseconds(waits.first.nanoseconds << min(max(attempts, 0), 16)), waits.last))
        }
        switch outcome {
        case .accepted: self = .done(Ending(.accepted, status: 200))
        case .expired: self = .done(Ending(.expired))
        case .rejected(let rejection):
            switch ClientSign(rejection) {
            // A row that stayed due would be the first of the next batch. Rows of a topic that APNs refuses would then be
            // sent again and again, before those of the client's other topics.
            case .refused: self = .hidden
            case .silent: self = again(Self.busyWaits)
            case .works, .unreachable, .unanswered:
                let status = rejection.status.flatMap { Int16(exactly: $0) }
                self = .done(Ending(.rejected, status: status, reason: rejection.reason.rawValue))
            }
        case .undelivered(.credentials): self = .hidden
        case .undelivered(.shutDown), .undelivered(.released), .undelivered(.cancelled): self = .left
        case .undelivered: self = again(Self.otherWaits)
        case .uncertain(let cause):
            // Only a first attempt is repeated: `attempts` does not tell whether the push of an earlier attempt may
            // have arrived.
            if repeatsUnknown, attempts == 0 {
                self = again(Self.otherWaits)
            } else {
                self = .done(Ending(.uncertain, reason: "\(cause)"))
            }
        @unknown default: self = .done(Ending(.uncertain))
        }
    }
}

/// What an outcome, or the lack of one, says about all pushes of a client.
package enum ClientSign: Hashable, Sendable {
    /// APNs takes the client's credentials and topic, or Ferry has rejected the row itself.
    case works
    /// APNs refuses the client's credentials or topic. The reason is nil if the handshake was refused.
    case refused(Reason?)
    /// There is no connection to APNs.
    case unreachable
    /// The client's rows in a batch got no answer in ``BatchMachine/writeLimit``.
    case unanswered
    /// The outcome tells nothing about other pushes.
    case silent

    package init(_ outcome: Outcome) {
        switch outcome {
        case .accepted: self = .works
        case .rejected(let rejection): self.init(rejection)
        case .undelivered(.credentials): self = .refused(nil)
        case .undelivered(.noConnection): self = .unreachable
        default: self = .silent
        }
    }

    /// A rejection by Ferry is about one row, so it does not count against the client.
    fileprivate init(_ rejection: Rejection) {
        guard rejection.origin == .apns else {
            self = .works
            return
        }
        let status = rejection.status ?? 0
        switch rejection.reason.row?.gateway {
        case .blocked: self = .refused(rejection.reason)
        case .again, .againForDevice: self = .silent
        case .deadLetter, .feedback, .otherTopic, .told, .toldIfFoundHere: self = .works
        case .unforeseen, nil: self = status == 429 || status >= 500 ? .silent : .works
        }
    }
}

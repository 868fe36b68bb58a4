extension Outcome: CustomStringConvertible {
    /// The outcome's word, with its evidence or its cause: "accepted (confirmed)", "rejected: BadDeviceToken (400)",
    /// "expired".
    public var description: String {
        switch self {
        case .accepted(let acceptance): "\(self.word) (\(acceptance))"
        case .rejected(let rejection): "\(self.word): \(rejection)"
        case .expired: "\(self.word)"
        case .undelivered(let cause): "\(self.word): \(cause)"
        case .uncertain(let cause): "\(self.word): \(cause)"
        }
    }

    /// The outcome in one word.
    package var word: StaticString {
        switch self {
        case .accepted: "accepted"
        case .rejected: "rejected"
        case .expired: "expired"
        case .undelivered: "undelivered"
        case .uncertain: "uncertain"
        }
    }
}

extension Outcome.Acceptance: CustomStringConvertible {
    /// The case's name.
    public var description: String { "\(self.word)" }

    package var word: StaticString {
        switch self {
        case .confirmed: "confirmed"
        case .presumed: "presumed"
        }
    }
}

extension Outcome.UndeliveredCause: CustomStringConvertible {
    /// The case's name.
    public var description: String { "\(self.word)" }

    package var word: StaticString {
        switch self {
        case .shutDown: "shutDown"
        case .cancelled: "cancelled"
        case .evicted: "evicted"
        case .discarded: "discarded"
        case .credentials: "credentials"
        case .noConnection: "noConnection"
        case .released: "released"
        case .deadline: "deadline"
        }
    }
}

extension Outcome.UncertainCause: CustomStringConvertible {
    /// The case's name.
    public var description: String { "\(self.word)" }

    package var word: StaticString {
        switch self {
        case .positionUnknown: "positionUnknown"
        case .peerCloses: "peerCloses"
        case .shutDown: "shutDown"
        case .notRepeated: "notRepeated"
        case .released: "released"
        case .noAnswer: "noAnswer"
        case .reset: "reset"
        }
    }
}

extension Rejection: CustomStringConvertible {
    /// The reason and the peer's status. If they do not show who refused, the origin follows: "BadDeviceToken (400)",
    /// "PayloadTooLarge (ferry)".
    public var description: String {
        let number = self.status.map { ["\($0)"] } ?? []
        let origin: [String] =
            switch self.origin {
            case .gateway, .apns: []
            case .ferry, .inferred: ["\(self.origin)"]
            }
        let notes = number + origin
        return notes.isEmpty ? "\(self.reason)" : "\(self.reason) (\(notes.joined(separator: ", ")))"
    }
}

extension Rejection.Origin: CustomStringConvertible {
    /// The case's name.
    public var description: String { "\(self.word)" }

    package var word: StaticString {
        switch self {
        case .gateway: "gateway"
        case .apns: "apns"
        case .ferry: "ferry"
        case .inferred: "inferred"
        }
    }
}

extension OutcomeRecord: CustomStringConvertible {
    /// PushTag and outcome: "7: accepted (confirmed)", "8: uncertain: reset, INTERNAL_ERROR (2)".
    public var description: String {
        "\(self.tag): \(self.outcome)" + (self.errorCode.map { ", \($0)" } ?? "")
    }
}

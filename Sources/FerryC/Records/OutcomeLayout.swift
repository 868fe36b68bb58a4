internal import CFerry
internal import FerryCore
internal import FerryPlatform

extension ferry_outcome {
    init(_ record: OutcomeRecord) {
        self.init()
        self.tag = record.tag.rawValue
        switch record.outcome {
        case .accepted(let acceptance):
            self.outcome = UInt8(FERRY_ACCEPTED)
            self.detail = UInt8(acceptance == .confirmed ? FERRY_CONFIRMED : FERRY_PRESUMED)
        case .rejected(let rejection):
            self.outcome = UInt8(FERRY_REJECTED)
            self.set(rejection)
        case .expired: self.outcome = UInt8(FERRY_EXPIRED)
        case .undelivered(let cause):
            self.outcome = UInt8(FERRY_UNDELIVERED)
            self.detail = UInt8(cause.number)
        case .uncertain(let cause):
            self.outcome = UInt8(FERRY_UNCERTAIN)
            self.detail = UInt8(cause.number)
        }
        guard let apnsID = record.apnsID else { return }
        self.flags |= UInt8(FERRY_OUTCOME_APNS_ID)
        withUnsafeMutableBytes(of: &self.apns_id) { bytes in
            guard let start = bytes.baseAddress else { return }
            apnsID.write(to: start.assumingMemoryBound(to: UInt8.self))
        }
    }

    /// Whether the outcomes differ at most in tag and apns-id.
    func isLike(_ other: ferry_outcome) -> Bool {
        self.outcome == other.outcome && self.detail == other.detail && self.status == other.status
            && self.reason == other.reason && self.legacy == other.legacy && self.flags == other.flags
            && self.timestamp == other.timestamp
    }

    private mutating func set(_ rejection: Rejection) {
        self.detail = UInt8(rejection.origin.number)
        self.status = UInt16(clamping: rejection.status ?? 0)
        self.reason = ReasonNumbers.number(of: rejection.reason)
        self.legacy = rejection.legacyStatus
        if let timestamp = rejection.timestamp {
            self.timestamp = Int64((timestamp.timeIntervalSince1970 * 1000).rounded())
        }
    }
}

extension Outcome {
    /// The outcome that these numbers stand for, without the time stamp of a rejection; nil if no outcome has these
    /// numbers.
    init?(_ outcome: ferry_outcome) {
        let detail = Int32(outcome.detail)
        switch Int32(outcome.outcome) {
        case FERRY_ACCEPTED where detail == FERRY_CONFIRMED: self = .accepted(.confirmed)
        case FERRY_ACCEPTED where detail == FERRY_PRESUMED: self = .accepted(.presumed)
        case FERRY_REJECTED:
            guard let origin = Rejection.Origin.all.first(where: { $0.number == detail }),
                let reason = ReasonNumbers.reason(of: outcome.reason)
            else { return nil }
            let status = outcome.status == 0 ? nil : Int(outcome.status)
            self = .rejected(Rejection(reason: reason, origin: origin, status: status))
        case FERRY_EXPIRED: self = .expired
        case FERRY_UNDELIVERED:
            guard let cause = UndeliveredCause.allCases.first(where: { $0.number == detail }) else { return nil }
            self = .undelivered(cause)
        case FERRY_UNCERTAIN:
            guard let cause = UncertainCause.allCases.first(where: { $0.number == detail }) else { return nil }
            self = .uncertain(cause)
        default: return nil
        }
    }
}

extension Rejection.Origin {
    fileprivate static let all: [Rejection.Origin] = [.gateway, .apns, .ferry, .inferred]

    fileprivate var number: Int32 {
        switch self {
        case .gateway: FERRY_ORIGIN_GATEWAY
        case .apns: FERRY_ORIGIN_APNS
        case .ferry: FERRY_ORIGIN_FERRY
        case .inferred: FERRY_ORIGIN_INFERRED
        }
    }
}

extension Outcome.UndeliveredCause {
    fileprivate var number: Int32 {
        switch self {
        case .shutDown: FERRY_CAUSE_SHUT_DOWN
        case .cancelled: FERRY_CAUSE_CANCELLED
        case .evicted: FERRY_CAUSE_EVICTED
        case .discarded: FERRY_CAUSE_DISCARDED
        case .credentials: FERRY_CAUSE_CREDENTIALS
        case .noConnection: FERRY_CAUSE_NO_CONNECTION
        case .released: FERRY_CAUSE_RELEASED
        case .deadline: FERRY_CAUSE_DEADLINE
        }
    }
}

extension Outcome.UncertainCause {
    fileprivate var number: Int32 {
        switch self {
        case .positionUnknown: FERRY_CAUSE_POSITION_UNKNOWN
        case .peerCloses: FERRY_CAUSE_PEER_CLOSES
        case .shutDown: FERRY_CAUSE_SHUT_DOWN
        case .notRepeated: FERRY_CAUSE_NOT_REPEATED
        case .released: FERRY_CAUSE_RELEASED
        case .noAnswer: FERRY_CAUSE_NO_ANSWER
        case .reset: FERRY_CAUSE_RESET
        }
    }
}

/// A kind of outcome: one for each number of ``OutcomeCounts``.
@nonexhaustive
public enum OutcomeKind: UInt8, CaseIterable, Hashable, Sendable {
    /// ``Outcome/accepted(_:)``, proved by the peer.
    case confirmed
    /// ``Outcome/accepted(_:)``, after the peer's silence.
    case presumed
    /// ``Outcome/rejected(_:)``.
    case rejected
    /// ``Outcome/expired``.
    case expired
    /// ``Outcome/undelivered(_:)``.
    case undelivered
    /// ``Outcome/uncertain(_:)``.
    case uncertain

    /// Creates the kind of an outcome.
    public init(_ outcome: Outcome) {
        switch outcome {
        case .accepted(.confirmed): self = .confirmed
        case .accepted(.presumed): self = .presumed
        case .rejected: self = .rejected
        case .expired: self = .expired
        case .undelivered: self = .undelivered
        case .uncertain: self = .uncertain
        }
    }
}

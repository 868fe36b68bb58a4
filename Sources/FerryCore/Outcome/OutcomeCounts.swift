/// The number of notifications with each outcome. The six numbers add up to the notifications that have settled.
public struct OutcomeCounts: Hashable, Sendable {
    /// ``Outcome/accepted(_:)``, proved by the peer.
    public var confirmed = 0
    /// ``Outcome/accepted(_:)``, after the peer's silence.
    public var presumed = 0
    /// ``Outcome/rejected(_:)``.
    public var rejected = 0
    /// ``Outcome/expired``.
    public var expired = 0
    /// ``Outcome/undelivered(_:)``.
    public var undelivered = 0
    /// ``Outcome/uncertain(_:)``.
    public var uncertain = 0

    /// Creates counts of zero.
    public init() {}

    /// Confirmed and presumed.
    public var accepted: Int { self.confirmed + self.presumed }

    /// The sum of all six counts.
    public var settled: Int { self.accepted + self.rejected + self.expired + self.undelivered + self.uncertain }

    /// Counts `count` notifications that ended with `outcome`.
    public mutating func add(_ outcome: Outcome, count: Int = 1) {
        switch outcome {
        case .accepted(.confirmed): self.confirmed += count
        case .accepted(.presumed): self.presumed += count
        case .rejected: self.rejected += count
        case .expired: self.expired += count
        case .undelivered: self.undelivered += count
        case .uncertain: self.uncertain += count
        }
    }

    /// Adds the counts of `other`, kind by kind.
    package mutating func add(_ other: OutcomeCounts) {
        self.confirmed += other.confirmed
        self.presumed += other.presumed
        self.rejected += other.rejected
        self.expired += other.expired
        self.undelivered += other.undelivered
        self.uncertain += other.uncertain
    }

    /// Returns how many more these are than `earlier`, kind by kind.
    package func since(_ earlier: OutcomeCounts) -> OutcomeCounts {
        var more = OutcomeCounts()
        more.confirmed = self.confirmed - earlier.confirmed
        more.presumed = self.presumed - earlier.presumed
        more.rejected = self.rejected - earlier.rejected
        more.expired = self.expired - earlier.expired
        more.undelivered = self.undelivered - earlier.undelivered
        more.uncertain = self.uncertain - earlier.uncertain
        return more
    }
}

extension OutcomeCounts: CustomStringConvertible {
    /// The numbers that are not zero: "12 accepted (10 confirmed, 2 presumed), 1 rejected".
    public var description: String {
        let acceptances = [(self.confirmed, "confirmed"), (self.presumed, "presumed")].listed ?? ""
        let outcomes = [
            (self.accepted, "accepted (\(acceptances))"), (self.rejected, "rejected"), (self.expired, "expired"),
            (self.undelivered, "undelivered"), (self.uncertain, "uncertain"),
        ]
        return outcomes.listed ?? "no outcomes"
    }
}

extension [(Int, String)] {
    /// The numbers with their words, on one line, without zeros; nil if all are zero.
    var listed: String? {
        let parts = self.filter { $0.0 != 0 }.map { "\($0.0) \($0.1)" }
        return parts.isEmpty ? nil : parts.joined(separator: ", ")
    }
}

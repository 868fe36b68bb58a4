/// How many notifications ended how. The six outcomes add up to what was submitted and has settled.
public struct OutcomeCounts: Hashable, Sendable {
    public var confirmed = 0
    public var presumed = 0
    public var rejected = 0
    public var expired = 0
    public var undelivered = 0
    public var uncertain = 0

    public init() {}

    public var accepted: Int { self.confirmed + self.presumed }

    public var settled: Int { self.accepted + self.rejected + self.expired + self.undelivered + self.uncertain }

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
}

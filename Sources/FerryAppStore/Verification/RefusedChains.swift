/// The certificate chains that were refused for a fault that does not depend on the date, with the reasons. The next
/// post with such a chain is refused without a second check.
struct RefusedChains {
    /// The largest number of remembered chains, some 200 KB. At the limit, all chains are forgotten.
    static let limit = 1024

    /// The reasons, by the hashes of the leaf and the intermediate.
    private var reasons: [[UInt8]: String] = [:]

    func reason(of chain: [UInt8]) -> String? { self.reasons[chain] }

    mutating func add(_ chain: [UInt8], _ reason: String) {
        if self.reasons.count >= Self.limit { self.reasons = [:] }
        self.reasons[chain] = reason
    }
}

/// The chains of certificates that were refused lately, and why. Whoever posts with the same ones again costs no further look
/// at them.
struct RefusedChains {
    /// How many are remembered: some 200 KB. Then all are forgotten.
    static let limit = 1024

    /// By the hashes of leaf and intermediate.
    private var reasons: [[UInt8]: String] = [:]

    func reason(of chain: [UInt8]) -> String? { self.reasons[chain] }

    mutating func add(_ chain: [UInt8], _ reason: String) {
        if self.reasons.count >= Self.limit { self.reasons = [:] }
        self.reasons[chain] = reason
    }
}

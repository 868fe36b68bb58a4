internal import FerryCore

/// The conditions of a rule about single notifications, prepared for fast lookup. All conditions that are set must
/// hold.
struct RuleCondition: Sendable {
    private let tokens: Set<DeviceToken>?
    /// The hashes of the tokens. They exclude nearly every notification without a copy of its token.
    private let hashes: Set<UInt32>
    private let prefix: [UInt8]?
    private let place: Int?

    init(tokens: Set<DeviceToken>?, prefix: [UInt8]?, place: Int?) {
        self.tokens = tokens
        self.hashes = Set((tokens ?? []).map { $0.bytes.withUnsafeBufferPointer(DeviceToken.stableHash) })
        self.prefix = prefix
        self.place = place
    }

    /// Returns whether the rule holds for a notification to `token` at `place` of its connection.
    func holds(token: UnsafeBufferPointer<UInt8>, place: Int) -> Bool {
        if let wanted = self.place, wanted != place { return false }
        if let prefix = self.prefix {
            guard prefix.count <= token.count else { return false }
            for index in prefix.indices where prefix[index] != token[index] { return false }
        }
        guard let tokens = self.tokens else { return true }
        return self.hashes.contains(DeviceToken.stableHash(token)) && tokens.contains(DeviceToken(unchecked: token))
    }
}

/// The number of times that each rule of a script was applied, over all connections. Safe from any thread.
final class RuleClaims: Sendable {
    private let applied: Locked<[Int]>
    private let limits: [Int?]

    init(limits: [Int?]) {
        self.limits = limits
        self.applied = Locked(Array(repeating: 0, count: limits.count))
    }

    /// Counts the rule as applied. Returns false if it has reached its limit.
    func claim(_ rule: Int) -> Bool {
        self.applied.withLock { applied in
            if let limit = self.limits[rule], applied[rule] >= limit { return false }
            applied[rule] += 1
            return true
        }
    }
}

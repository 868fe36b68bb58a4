internal import FerryCore
internal import Synchronization

/// When a rule about single notifications holds: all that is given must. Made ready for looking things up.
struct RuleCondition: Sendable {
    private let tokens: Set<DeviceToken>?
    /// Hashes of the tokens: nearly every notification ends here.
    private let hashes: Set<UInt32>
    private let prefix: [UInt8]?
    private let place: Int?

    init(tokens: Set<DeviceToken>?, prefix: [UInt8]?, place: Int?) {
        self.tokens = tokens
        self.hashes = Set((tokens ?? []).map { $0.bytes.withUnsafeBufferPointer(DeviceToken.stableHash) })
        self.prefix = prefix
        self.place = place
    }

    /// Whether it holds for a notification to `token` at `place` of its connection.
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

/// How often each rule of a script was applied, over all connections. Safe from any thread.
final class RuleClaims: Sendable {
    private let applied: Mutex<[Int]>
    private let limits: [Int?]

    init(limits: [Int?]) {
        self.limits = limits
        self.applied = Mutex(Array(repeating: 0, count: limits.count))
    }

    /// Counts the rule as applied; false when it was applied as often as it may be.
    func claim(_ rule: Int) -> Bool {
        self.applied.withLock { applied in
            if let limit = self.limits[rule], applied[rule] >= limit { return false }
            applied[rule] += 1
            return true
        }
    }
}

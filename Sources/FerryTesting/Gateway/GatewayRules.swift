internal import FerryBinary
internal import FerryCore
internal import Synchronization

/// A script made ready for looking things up, shared by all connections of a gateway.
///
/// It also counts how often each rule was applied, for those that are limited. Safe from any thread.
package final class GatewayRules: Sendable {
    package let script: GatewayScript
    /// Those that decide about one notification, in the script's order.
    private let aboutOne: [Prepared]
    /// Those that hold after a number of notifications, by that number.
    private let afterCount: [(count: Int, rule: Int)]
    private let applied: Mutex<[Int]>

    private struct Prepared {
        var index: Int
        var rule: GatewayRule
        /// Hashes of the tokens: nearly every notification ends here.
        var hashes: Set<UInt32>

        func holds(token: Span<UInt8>, place: Int) -> Bool {
            if let at = self.rule.at, at != place { return false }
            if let prefix = self.rule.prefix {
                guard prefix.count <= token.count else { return false }
                for index in prefix.indices where prefix[index] != token[index] { return false }
            }
            if let tokens = self.rule.tokens {
                return token.withUnsafeBufferPointer { bytes in
                    self.hashes.contains(DeviceToken.stableHash(bytes))
                        && tokens.contains(DeviceToken(unchecked: bytes))
                }
            }
            return true
        }
    }

    package init(_ script: GatewayScript) {
        self.script = script
        let rules = script.rules.enumerated()
        self.aboutOne = rules.filter { $0.element.after == nil }.map { index, rule in
            let hashes = (rule.tokens ?? []).map { $0.bytes.withUnsafeBufferPointer(DeviceToken.stableHash) }
            return Prepared(index: index, rule: rule, hashes: Set(hashes))
        }
        self.afterCount = rules.compactMap { index, rule in rule.after.map { ($0, index) } }
            .sorted { ($0.count, $0.rule) < ($1.count, $1.rule) }
        self.applied = Mutex(Array(repeating: 0, count: script.rules.count))
    }

    /// Whether any rule decides about single notifications.
    var hasRulesAboutOne: Bool { !self.aboutOne.isEmpty }

    /// The rule for the notification at `place` of its connection, counted as applied.
    func rule(token: Span<UInt8>, place: Int) -> GatewayRule? {
        self.aboutOne.first { $0.holds(token: token, place: place) && self.claim($0.index) }?.rule
    }

    /// The lowest number of accepted notifications, from `minimum` on, after which a rule holds.
    func nextCount(from minimum: Int) -> Int? {
        self.afterCount.first { $0.count >= minimum }?.count
    }

    /// The rule that holds when `count` notifications were accepted, counted as applied.
    func rule(after count: Int) -> GatewayRule? {
        let found = self.afterCount.first { $0.count == count && self.claim($0.rule) }
        return found.map { self.script.rules[$0.rule] }
    }

    private func claim(_ index: Int) -> Bool {
        self.applied.withLock { applied in
            if let times = self.script.rules[index].times, applied[index] >= times { return false }
            applied[index] += 1
            return true
        }
    }
}

extension GatewayRule {
    /// Whether the notification that the rule is applied to counts as accepted.
    var accepts: Bool {
        switch self.action {
        case .gone: true
        case .respond: BinaryStatus(rawValue: self.status).namesAccepted
        case .close, .reset, .stopReading: false
        }
    }
}

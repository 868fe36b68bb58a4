internal import FerryBinary
internal import FerryCore

/// A script, prepared for fast lookup and shared by all connections of a gateway.
///
/// It counts how often each rule was applied, for ``GatewayRule/times``. Safe from any thread.
package final class GatewayRules: Sendable {
    package let script: GatewayScript
    /// The rules about single notifications, in the script's order.
    private let aboutOne: [Prepared]
    /// The rules with ``GatewayRule/after``, sorted by that number.
    private let afterCount: [(count: Int, rule: Int)]
    private let claims: RuleClaims

    private struct Prepared {
        var index: Int
        var rule: GatewayRule
        var condition: RuleCondition
    }

    package init(_ script: GatewayScript) {
        self.script = script
        let rules = script.rules.enumerated()
        self.aboutOne = rules.filter { $0.element.after == nil }.map { index, rule in
            let condition = RuleCondition(tokens: rule.tokens, prefix: rule.prefix, place: rule.at)
            return Prepared(index: index, rule: rule, condition: condition)
        }
        self.afterCount = rules.compactMap { index, rule in rule.after.map { ($0, index) } }
            .sorted { ($0.count, $0.rule) < ($1.count, $1.rule) }
        self.claims = RuleClaims(limits: script.rules.map(\.times))
    }

    /// True if any rule is about single notifications.
    var hasRulesAboutOne: Bool { !self.aboutOne.isEmpty }

    /// Returns the rule for the notification at `place` of its connection, and counts it as applied.
    func rule(token: Span<UInt8>, place: Int) -> GatewayRule? {
        token.withUnsafeBufferPointer { token in
            self.aboutOne.first { $0.condition.holds(token: token, place: place) && self.claims.claim($0.index) }?.rule
        }
    }

    /// Returns the lowest number of accepted notifications, at least `minimum`, after which a rule holds.
    func nextCount(from minimum: Int) -> Int? {
        self.afterCount.first { $0.count >= minimum }?.count
    }

    /// Returns the rule that holds after `count` accepted notifications, and counts it as applied.
    func rule(after count: Int) -> GatewayRule? {
        let found = self.afterCount.first { $0.count == count && self.claims.claim($0.rule) }
        return found.map { self.script.rules[$0.rule] }
    }
}

extension GatewayRule {
    /// True if the notification that the rule is applied to counts as accepted.
    var accepts: Bool {
        switch self.action {
        case .gone: true
        case .respond: BinaryStatus(rawValue: self.status).namesAccepted
        case .close, .reset, .stopReading: false
        }
    }
}

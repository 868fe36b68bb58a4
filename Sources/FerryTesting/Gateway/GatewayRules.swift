internal import FerryBinary
internal import FerryCore

/// A script made ready for looking things up, shared by all connections of a gateway.
///
/// It also counts how often each rule was applied, for those that are limited. Safe from any thread.
package final class GatewayRules: Sendable {
    package let script: GatewayScript
    /// Those that decide about one notification, in the script's order.
    private let aboutOne: [Prepared]
    /// Those that hold after a number of notifications, by that number.
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

    /// Whether any rule decides about single notifications.
    var hasRulesAboutOne: Bool { !self.aboutOne.isEmpty }

    /// The rule for the notification at `place` of its connection, counted as applied.
    func rule(token: Span<UInt8>, place: Int) -> GatewayRule? {
        token.withUnsafeBufferPointer { token in
            self.aboutOne.first { $0.condition.holds(token: token, place: place) && self.claims.claim($0.index) }?.rule
        }
    }

    /// The lowest number of accepted notifications, from `minimum` on, after which a rule holds.
    func nextCount(from minimum: Int) -> Int? {
        self.afterCount.first { $0.count >= minimum }?.count
    }

    /// The rule that holds when `count` notifications were accepted, counted as applied.
    func rule(after count: Int) -> GatewayRule? {
        let found = self.afterCount.first { $0.count == count && self.claims.claim($0.rule) }
        return found.map { self.script.rules[$0.rule] }
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

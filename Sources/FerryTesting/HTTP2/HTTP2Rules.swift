internal import FerryCore
internal import FerryPlatform

/// An ``HTTP2Script``, prepared for fast lookup and shared by all connections of a simulated APNs.
///
/// It counts how often each rule was applied, for ``HTTP2Rule/times``. Safe from any thread.
package final class HTTP2Rules: Sendable {
    package let script: HTTP2Script
    /// The rules about single requests, in the script's order, without early answers.
    private let aboutOne: [Prepared]
    private let early: [Prepared]
    /// The indices of the rules that hold at a number of accepted requests.
    private let aboutCount: [Int]
    /// The indices of the rules that hold after a number of refused requests.
    private let aboutRefusals: [Int]
    private let claims: RuleClaims
    /// True if any rule is about single requests that are complete.
    let hasRulesAboutOne: Bool
    /// True if any rule answers requests before they are complete.
    let hasEarlyAnswers: Bool
    /// True if any rule slows the window down.
    let hasSlowWindows: Bool
    /// True if any rule stops reading a connection.
    let stopsReading: Bool

    private struct Prepared {
        var index: Int
        var condition: RuleCondition
        /// The requests about channels for which the rule holds; nil: all requests.
        var channels: Set<HTTP2Rule.ChannelAction>?

        func holds(token: UnsafeBufferPointer<UInt8>, channel: HTTP2Rule.ChannelAction?, place: Int) -> Bool {
            if let channels, !(channel.map(channels.contains) ?? false) { return false }
            return self.condition.holds(token: token, place: place)
        }
    }

    package init(_ script: HTTP2Script) {
        self.script = script
        let indices = script.rules.indices
        let prepared = indices.filter { !script.rules[$0].isAboutCount && script.rules[$0].refused == nil }.map {
            index in
            let rule = script.rules[index]
            return Prepared(
                index: index,
                condition: RuleCondition(tokens: rule.tokens, prefix: rule.prefix, place: rule.at),
                channels: rule.channels
            )
        }
        self.aboutOne = prepared.filter { script.rules[$0.index].action != .earlyAnswer }
        self.early = prepared.filter { script.rules[$0.index].action == .earlyAnswer }
        self.aboutCount = indices.filter { script.rules[$0].isAboutCount }
        self.aboutRefusals = indices.filter { script.rules[$0].refused != nil }
        self.claims = RuleClaims(limits: script.rules.map(\.times))
        self.hasRulesAboutOne = !self.aboutOne.isEmpty
        let actions = Set(script.rules.map(\.action))
        self.hasEarlyAnswers = actions.contains(.earlyAnswer)
        self.hasSlowWindows = actions.contains(.slowWindow)
        self.stopsReading = actions.contains(.stopReading)
    }

    /// Returns the rule for the request at `place` of its connection, and counts it as applied.
    ///
    /// - Parameter channel: the action of a request about channels.
    func rule(
        token: UnsafeBufferPointer<UInt8>,
        channel: HTTP2Rule.ChannelAction?,
        place: Int,
        isEarly: Bool
    ) -> HTTP2Rule? {
        let found = (isEarly ? self.early : self.aboutOne).first {
            $0.holds(token: token, channel: channel, place: place) && self.claims.claim($0.index)
        }
        return found.map { self.script.rules[$0.index] }
    }

    /// Returns the lowest number of accepted requests, at least `minimum`, at which a rule may hold.
    func nextCount(from minimum: Int) -> Int? {
        self.aboutCount.compactMap { self.script.rules[$0].nextCount(from: minimum) }.min()
    }

    /// Returns the rule that holds after `count` refused requests in a row, and counts it as applied.
    func rule(afterRefusals count: Int) -> HTTP2Rule? {
        let found = self.aboutRefusals.first { index in
            self.script.rules[index].refused.map { $0 > 0 && count % $0 == 0 } ?? false && self.claims.claim(index)
        }
        return found.map { self.script.rules[$0] }
    }

    /// Returns the rule that holds at `count` accepted requests, and counts it as applied.
    func rule(at count: Int) -> HTTP2Rule? {
        let found = self.aboutCount.first { index in
            self.script.rules[index].nextCount(from: count) == count && self.claims.claim(index)
        }
        return found.map { self.script.rules[$0] }
    }
}

extension HTTP2Rule {
    fileprivate var isAboutCount: Bool { self.after != nil || self.every != nil }

    fileprivate func nextCount(from minimum: Int) -> Int? {
        if let after = self.after { return after >= minimum ? after : nil }
        guard let every = self.every, every > 0 else { return nil }
        let (multiple, isTooHigh) = every.multipliedReportingOverflow(by: max((minimum + every - 1) / every, 1))
        return isTooHigh ? nil : multiple
    }

    /// True if the rule acts on one request, false if it acts on the connection.
    var concernsRequest: Bool {
        switch self.action {
        case .respond, .earlyAnswer, .refuseStream, .resetAfterHeaders, .loseAnswer, .silence: true
        case .goAway, .settings, .slowWindow, .close, .reset, .stopReading: false
        }
    }

    /// Returns the answer of the rule.
    ///
    /// - Parameters:
    ///   - now: the current time, in seconds since the UNIX epoch.
    ///   - isAboutChannels: whether the request is about channels, and not a notification.
    func answer(now: UInt32, isAboutChannels: Bool) -> APNsAnswer {
        let usual: Reason? = self.action == .earlyAnswer && self.status == nil ? .payloadTooLarge : nil
        let reason = self.reason ?? usual
        let status = self.status ?? reason.map(APNsAnswer.status(of:)) ?? 400
        return APNsAnswer(
            status: status,
            reason: status == 200
                ? nil : reason ?? APNsAnswer.usualReason(of: status, isAboutChannels: isAboutChannels),
            timestamp: self.timestamp?.unixMilliseconds ?? (status == 410 ? Int64(now) * 1000 : nil),
            retryAfter: self.retryAfter
        )
    }
}

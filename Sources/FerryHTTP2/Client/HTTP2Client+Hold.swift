internal import FerryCore
internal import FerryMachine
internal import FerryPlatform
internal import NIOCore

extension HTTP2Client {
    /// Reports, once for each refusal, that a provider token was refused and the next may not be used yet.
    ///
    /// Without the event the user would not know why nothing is sent until the deadlines pass.
    mutating func reportHold(now: Moment) {
        guard let (refused, reason) = self.tokenRefusal else { return }
        if case .token(let token) = self.authorization, token.generation != refused.generation {
            self.tokenRefusal = nil
        }
        // If the hold is not in the future, the owner has not yet answered the refusal.
        guard case .held(let until) = self.authorization, until > now.monotonic else { return }
        self.tokenRefusal = nil
        guard let (code, sentence) = self.hold(refused.origin, reason, until, now) else { return }
        let message = "\(self.peer) refuses the provider token with \(reason)\(sentence)"
        self.report(.error(ProviderError(code, message)))
    }

    /// Returns the consequence of a refusal, as the end of a sentence; nil when the source of the tokens reports it.
    private func hold(
        _ origin: ProviderToken.Origin,
        _ reason: Reason,
        _ until: NIODeadline,
        _ now: Moment
    ) -> (ProviderError.Code, String)? {
        let isExpired = reason == .expiredProviderToken
        let clock = ClockReading(Date(timeIntervalSince1970: Double(now.epochSeconds)))
        let wrongClock = "look at the clock of the machine that made it, and set it right; \(clock)."
        let explanation = reason.explanation.map { ": \($0)" } ?? "."
        switch origin {
        case .given:
            // A peer that accepted earlier tokens will accept the next one, which may arrive at any time.
            let isLasting = self.outcomes.counts.accepted == 0
            if isExpired, !isLasting { return nil }
            let cause = isExpired ? ", so it is too old or a clock is wrong: \(wrongClock)" : explanation
            return (
                isLasting ? .credentialsRejected : .noProviderToken,
                "\(cause) Nothing is sent until there is another."
            )
        case .signed:
            let pause = "Nothing is sent for \(now.seconds(until: until)) s."
            if isExpired {
                // The token is younger than 20 minutes. An older one would be replaced at once, without a hold.
                let cause = ", although it is less than 20 minutes old: \(wrongClock)"
                return (.credentialsRejected, "\(cause) \(pause)")
            }
            let cause = reason == .invalidProviderToken ? "\(explanation) Now \(clock)." : explanation
            // A notification whose deadline is after the hold is still sent.
            let isHopeless = now.monotonic + self.deadline <= until
            return (isHopeless ? .credentialsRejected : .tooManyRejections, "\(cause) \(pause)")
        }
    }
}

internal import FerryCore
internal import FerryMachine
internal import NIOCore

#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif

extension HTTP2Client {
    /// Says, once for each refusal, that a provider token was refused and the next may not be made yet.
    ///
    /// Without the event nobody would know why nothing is sent until the deadlines pass.
    mutating func reportHold(now: Moment) {
        guard let (generation, reason) = self.tokenRefusal else { return }
        if case .token(let token) = self.authorization, token.generation != generation { self.tokenRefusal = nil }
        // Else the owner has not said yet what is to be used from now on.
        guard case .held(let until) = self.authorization, until > now.monotonic else { return }
        self.tokenRefusal = nil
        let (code, sentence) = self.hold(reason, until, now)
        let message =
            "\(self.authority) refuses the provider token with \(reason)\(sentence) "
            + "Nothing is sent for \(now.seconds(until: until)) s."
        self.report(.error(ProviderError(code, message)))
    }

    private func hold(_ reason: Reason, _ until: NIODeadline, _ now: Moment) -> (ProviderError.Code, String) {
        if reason == .expiredProviderToken {
            // A token that is old enough to be replaced is replaced, and nothing is held.
            let time = Date(timeIntervalSince1970: Double(now.epochSeconds)).formatted(.iso8601)
            return (
                .credentialsRejected,
                ", although it is less than 20 minutes old: look at the clock of the machine that made it, and set it "
                    + "right. This machine's says \(time)."
            )
        }
        // What outlives the wait is sent after it.
        let isHopeless = now.monotonic + self.deadline <= until
        let explanation = reason.explanation.map { ": \($0)" } ?? "."
        return (isHopeless ? .credentialsRejected : .tooManyRejections, explanation)
    }
}

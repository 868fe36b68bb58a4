/// A receiver of outcomes, called as they are given.
public protocol OutcomeSink: Sendable {
    /// Called on one of the provider's event loops with one or more outcomes, which are valid only during the call. Calls of
    /// one provider never overlap.
    ///
    /// The call must not block, because it stops everything else on that event loop. It may call
    /// ``PushProvider/trySubmit(_:)``.
    func settled(_ outcomes: Span<OutcomeRecord>)
}

/// The destination of a provider's outcomes. Given once, when the provider is made.
@nonexhaustive
public enum OutcomeDelivery: Sendable {
    /// Outcomes are counted for ``DrainReport`` and then forgotten.
    case discard
    /// Outcomes go to a sink, on one of the provider's event loops.
    case sink(any OutcomeSink)
    /// Outcomes wait for the one reader of the provider's `outcomes`. No outcome is ever dropped. An unread outcome
    /// holds its notification's place in the queue, so a slow reader slows ``PushProvider/submit(_:)``.
    case stream
}

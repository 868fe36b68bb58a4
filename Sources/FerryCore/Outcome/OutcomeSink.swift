/// Takes outcomes as they are given.
public protocol OutcomeSink: Sendable {
    /// Called on the connection's event loop with one or more outcomes, which are valid only during the call.
    ///
    /// It must not block: nothing else happens on that event loop meanwhile. It may call
    /// ``PushProvider/trySubmit(_:)``.
    func settled(_ outcomes: Span<OutcomeRecord>)
}

/// Where a provider's outcomes go. Given once, when the provider is made.
@nonexhaustive
public enum OutcomeDelivery: Sendable {
    /// Outcomes are counted, for ``DrainReport``, and forgotten.
    case discard
    /// Outcomes go to a sink, on the connection's event loop.
    case sink(any OutcomeSink)
    /// Outcomes wait for the provider's one `outcomes` consumer. None is ever dropped: an outcome that waits holds
    /// its notification's place in the queue, so a slow reader slows ``PushProvider/submit(_:)``.
    case stream
}

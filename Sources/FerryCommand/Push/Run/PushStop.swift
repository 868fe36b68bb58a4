internal import Ferry
internal import Synchronization

/// Ends a run before its input does, from any thread: stops reading, and shuts the provider down.
final class PushStop: Sendable {
    /// How long everything may take to get its outcome after the first interrupt. The second allows nothing.
    static let interruptLimit: Duration = .seconds(30)
    /// The same after a failure that ends the run.
    static let failureLimit: Duration = .seconds(10)
    /// The same after credentials were refused, on either side: what is answered then is refused, too.
    static let refusalLimit: Duration = .seconds(2)

    enum Cause: Sendable {
        case interrupted
        case failed(ProviderError)
        case events(FileFailure)
    }

    private struct State {
        var cause: Cause?
        /// When the provider has given everything its outcome.
        var end: ContinuousClock.Instant?
        /// What has to be told.
        var listeners: [@Sendable () -> Void] = []

        /// The shortest limit counts.
        mutating func bound(_ limit: Duration) {
            let end = ContinuousClock.now + limit
            self.end = self.end.map { min($0, end) } ?? end
        }
    }

    private let provider: any PushProvider
    private let proof: Proof
    private let state = Mutex(State())
    private let wasSet = Atomic<Bool>(false)

    init(_ provider: any PushProvider, proof: Proof) {
        self.provider = provider
        self.proof = proof
    }

    var isSet: Bool { self.wasSet.load(ordering: .acquiring) }

    /// The first cause.
    var cause: Cause? { self.state.withLock { $0.cause } }

    /// When the provider has given everything its outcome, at the latest; nil while nothing ends the run.
    var end: ContinuousClock.Instant? { self.state.withLock { $0.end } }

    /// Ends a run whose input has ended, or that was stopped.
    func finish(within limit: Duration) async -> DrainReport {
        self.state.withLock { $0.bound(limit) }
        return await self.provider.shutdown(within: limit, proof: self.proof)
    }

    /// Calls `listener` when the run is stopped, or now if it was.
    func onStop(_ listener: @escaping @Sendable () -> Void) {
        let isStopped = self.state.withLock { state in
            if state.cause == nil { state.listeners.append(listener) }
            return state.cause != nil
        }
        if isStopped { listener() }
    }

    /// Stops the run for the `count`th interrupt.
    func interrupt(_ count: Int) {
        self.stop(.interrupted, within: count == 1 ? Self.interruptLimit : .zero)
    }

    func fail(_ error: ProviderError) {
        let isRefusal = error.code == .credentialsRejected || error.code == .peerNotTrusted
        // With a peer that does not speak the protocol every further attempt is in vain.
        let isVain = error.code == .protocolViolation || error.isOfForeignProtocol || error.isOfMissingHTTP2
        let limit = isVain ? .zero : isRefusal ? Self.refusalLimit : Self.failureLimit
        self.stop(.failed(error), within: limit)
    }

    func fail(_ failure: FileFailure) {
        self.stop(.events(failure), within: Self.failureLimit)
    }

    private func stop(_ cause: Cause, within limit: Duration) {
        let listeners = self.state.withLock { state in
            if state.cause == nil { state.cause = cause }
            state.bound(limit)
            defer { state.listeners = [] }
            return state.listeners
        }
        self.wasSet.store(true, ordering: .releasing)
        for listener in listeners { listener() }
        let (provider, proof) = (self.provider, self.proof)
        Task { _ = await provider.shutdown(within: limit, proof: limit == .zero ? .silence : proof) }
    }
}

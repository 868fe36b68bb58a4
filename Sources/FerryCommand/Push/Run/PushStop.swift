internal import Ferry
internal import FerryCore
internal import FerryTerminal
internal import Synchronization

/// Ends a run before its input ends, from any thread: stops reading, and shuts the provider down.
final class PushStop: Sendable {
    /// The limit for all outcomes after the first interrupt. After the second it is zero.
    static let interruptLimit: Duration = .seconds(30)
    /// The limit for all outcomes after another failure that ends the run. It is zero if no further attempt can
    /// succeed.
    static let failureLimit: Duration = .seconds(10)
    /// The limit for all outcomes after credentials were refused by either side. Later requests would be refused too.
    static let refusalLimit: Duration = .seconds(2)

    enum Cause: Sendable {
        case interrupted
        case failed(ProviderError)
        case events(FileFailure)
    }

    private struct State {
        var cause: Cause?
        /// The latest time at which every notification has its outcome.
        var end: ContinuousClock.Instant?
        /// The callbacks for the stop.
        var listeners: [@Sendable () -> Void] = []

        /// Sets the end to `limit` from now. An earlier end stays.
        mutating func bound(_ limit: Duration) {
            let end = ContinuousClock.now + limit
            self.end = self.end.map { min($0, end) } ?? end
        }
    }

    private let provider: any PushProvider
    private let proof: Proof
    private let state = Locked(State())
    private let wasSet = Atomic<Bool>(false)

    init(_ provider: any PushProvider, proof: Proof) {
        self.provider = provider
        self.proof = proof
    }

    var isSet: Bool { self.wasSet.load(ordering: .acquiring) }

    /// The first cause.
    var cause: Cause? { self.state.withLock { $0.cause } }

    /// The latest time at which every notification has its outcome. Nil while nothing ends the run.
    var end: ContinuousClock.Instant? { self.state.withLock { $0.end } }

    /// Shuts the provider down, after the input has ended or the run was stopped.
    func finish(within limit: Duration) async -> DrainReport {
        self.state.withLock { $0.bound(limit) }
        return await self.provider.shutDown(within: limit, proof: self.proof)
    }

    /// Calls `listener` when the run is stopped. Calls it at once if the run was stopped before.
    func onStop(_ listener: @escaping @Sendable () -> Void) {
        let isStopped = self.state.withLock { state in
            if state.cause == nil { state.listeners.append(listener) }
            return state.cause != nil
        }
        if isStopped { listener() }
    }

    /// Stops the run because of the `count`th interrupt.
    func interrupt(_ count: Int) {
        self.stop(.interrupted, within: count == 1 ? Self.interruptLimit : .zero)
    }

    func fail(_ error: ProviderError) {
        let isRefusal = error.code == .credentialsRejected || error.code == .peerNotTrusted
        // If the peer does not speak the protocol, no further attempt can succeed.
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
        Task { _ = await provider.shutDown(within: limit, proof: limit == .zero ? .silence : proof) }
    }
}

internal import Ferry
internal import Synchronization

/// Looks at what happens at a provider. Safe from any thread.
final class PushWatch: Sendable {
    private let stop: PushStop
    private let ledger: LineLedger
    /// Gets what happens, in words.
    private let say: (@Sendable (String) -> Void)?
    private let state = Mutex(State())

    private struct State {
        var window: Int?
        var hasConnected = false
        var lastError: ProviderError?
    }

    init(stop: PushStop, ledger: LineLedger, say: (@Sendable (String) -> Void)?) {
        self.stop = stop
        self.ledger = ledger
        self.say = say
    }

    /// How many notifications may be unsettled, since that was last limited.
    var window: Int? { self.state.withLock { $0.window } }

    /// Why the last attempt to connect failed; nil once a connection was made.
    var connectionError: ProviderError? { self.state.withLock { $0.hasConnected ? nil : $0.lastError } }

    func note(_ event: ProviderEvent) {
        switch event {
        case .connected(let id, let open):
            self.state.withLock { $0.hasConnected = true }
            self.say?("\(id) is open, of \(open)")
        case .disconnected(let id, let open):
            self.say?("\(id) is closed, \(open) are open")
        case .socketError(_, let error):
            // A certificate that is not trusted now will not be trusted at the next attempt.
            let hasConnected = self.state.withLock { state in
                state.lastError = error
                return state.hasConnected
            }
            if error.code == .peerNotTrusted, !hasConnected { self.stop.fail(error) }
            self.say?(error.message)
        case .error(let error):
            self.stop.fail(error)
        case .contradicted(let contradiction):
            self.ledger.publish(contradiction)
            self.say?("\(contradiction.count) outcomes turned out wrong")
        case .windowAdjusted(let window):
            self.state.withLock { $0.window = window }
        case .cacheTooSmall(let by):
            self.say?("the cache was too small by \(by)")
        case .resent(let count, _):
            self.say?("\(count) are sent again")
        case .transmissionError(let rejection, _, _, _):
            self.say?("one was rejected: \(rejection.reason)")
        default:
            break
        }
    }
}

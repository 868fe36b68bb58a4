internal import Ferry
internal import FerryHTTP2
internal import Synchronization

/// Looks at what happens at a provider. Safe from any thread.
final class PushWatch: Sendable {
    private let stop: PushStop
    /// Gets contradictions; nil when nobody wants them.
    private let ledger: LineLedger?
    /// Gets what happens, in words.
    private let say: (@Sendable (String) -> Void)?
    /// Gets what a person must know in any case.
    private let warn: @Sendable (String) -> Void
    private let state = Mutex(State())

    private struct State {
        var window: Int?
        var connection = Connection.none
        /// Whether a connection that was made has ended.
        var hasEnded = false
        /// Outcomes that turned out wrong.
        var contradicted = 0
        var refusal: Rejection?
        /// Why nothing could be sent for a while: there was no provider token.
        var lack: ProviderError?
        /// Whether it was said that sending pauses.
        var hasPaused = false
    }

    /// What came of connecting.
    enum Connection: Sendable {
        /// Nothing yet.
        case none
        /// Only failures; this was the last.
        case failed(ProviderError)
        case made

        var isMade: Bool { if case .made = self { true } else { false } }
    }

    init(
        stop: PushStop,
        ledger: LineLedger?,
        say: (@Sendable (String) -> Void)?,
        warn: @escaping @Sendable (String) -> Void
    ) {
        self.stop = stop
        self.ledger = ledger
        self.say = say
        self.warn = warn
    }

    /// How many notifications may be unsettled, since that was last limited.
    var window: Int? { self.state.withLock { $0.window } }

    var connection: Connection { self.state.withLock { $0.connection } }

    /// How many outcomes turned out wrong, as far as events say. Events may be lost: what a report says is right.
    var contradicted: Int { self.state.withLock { $0.contradicted } }

    /// The last rejection for the provider's credentials, of which APNs speaks with status 403.
    var refusal: Rejection? { self.state.withLock { $0.refusal } }

    /// Why there was no provider token at some time; nil when there always was one.
    var lack: ProviderError? { self.state.withLock { $0.lack } }

    func note(_ event: ProviderEvent) {
        switch event {
        case .connected(let id, let open):
            self.state.withLock { $0.connection = .made }
            self.say?("\(id) is open, of \(open)")
        case .disconnected(let id, let open):
            self.state.withLock { $0.hasEnded = true }
            self.say?("\(id) is closed, \(open) are open")
        case .socketError(_, let error):
            let (isMade, hasEnded) = self.state.withLock { state in
                if !state.connection.isMade { state.connection = .failed(error) }
                return (state.connection.isMade, state.hasEnded)
            }
            // What is so at the first attempt will be so at the next.
            let isLasting = error.code == .peerNotTrusted || error.isOfMissingHTTP2
            // What comes after other connections may be the word of something in between.
            if error.isOfForeignProtocol && !hasEnded || isLasting && !isMade { self.stop.fail(error) }
            self.say?(error.message)
        case .error(let error) where error.code == .tooManyRejections:
            // Sending pauses and goes on; what was rejected has its outcome.
            let isFirst = self.state.withLock { state in
                defer { state.hasPaused = true }
                return !state.hasPaused
            }
            if let say { say(error.message) } else if isFirst { self.warn("ferry: \(error.message)") }
        case .error(let error) where error.code == .noProviderToken:
            // Another program makes the tokens, and the next one may be a moment late.
            self.state.withLock { $0.lack = error }
            if !self.stop.isSet { self.warn("ferry: \(error.message)") }
        case .error(let error):
            self.stop.fail(error)
        case .contradicted(let contradiction):
            self.state.withLock { $0.contradicted += contradiction.count }
            self.ledger?.publish(contradiction)
            self.say?("\(contradiction.count) outcomes turned out wrong")
        case .windowAdjusted(let window):
            self.state.withLock { $0.window = window }
        case .cacheTooSmall(let by):
            self.say?("the cache was too small by \(by)")
        case .resent(let count, _):
            self.say?("\(count) are sent again")
        case .transmissionError(let rejection, _, _, _):
            if rejection.isOfCredentials { self.state.withLock { $0.refusal = rejection } }
            self.say?("one was rejected: \(rejection.reason)")
        case .requestReset(_, let errorCode, _):
            self.say?("one was reset: \(errorCode)")
        case .dropped(let count):
            self.say?("\(count) events came too fast to be looked at")
        default:
            break
        }
    }
}

extension Rejection {
    /// Whether APNs refused the provider, not the notification.
    fileprivate var isOfCredentials: Bool {
        self.origin == .apns && self.status == HTTPStatus.forbidden.rawValue && self.reason != .forbidden
    }
}

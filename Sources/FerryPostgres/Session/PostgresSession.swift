internal import DequeModule
internal import FerryCore
internal import FerryPlatform
package import NIOCore
internal import NIOPosix

/// One connection to PostgreSQL, from its start to its end.
///
/// Statements are pipelined, and answered in their order. A statement without an answer within its limit ends the
/// session, because the answers to all later statements come after its answer. After the end, make a new session.
///
/// ```
///   connecting ──▶ open ──▶ ended
///        └──────────────────▲
/// ```
///
/// The session has a thread, because some steps of libpq wait, such as those that read files. Any thread may call the
/// methods. Closures are called on the session's thread, and must not wait. If a statement is not accepted, its `then`
/// is called at once on the caller's thread.
package final class PostgresSession: Sendable {
    package typealias Answer = Result<PostgresRows, PostgresError>

    /// The largest number of statements without an answer. Further statements are refused.
    package static let limit = 1024

    struct Request: Sendable {
        let statement: PostgresStatement
        let deadline: NIODeadline
        let then: @Sendable (Answer) -> Void
    }

    private let inbox: PostgresInbox

    /// Begins to connect.
    ///
    /// - Parameter onEnd: called once, after the answers of all accepted statements. It gets nil if ``close()`` has
    ///   ended the session.
    package init(_ settings: PostgresSettings, onEnd: @escaping @Sendable (PostgresError?) -> Void = { _ in }) {
        let inbox = PostgresInbox()
        self.inbox = inbox
        let pool = NIOThreadPool(numberOfThreads: 1)
        pool.start()
        pool.submit { _ in
            PostgresThread(inbox).run(settings, onEnd)
            pool.shutdownGracefully { _ in }
        }
    }

    deinit { self.close() }

    /// Sends a statement.
    ///
    /// - Parameter then: called once.
    package func send(
        _ statement: PostgresStatement,
        within limit: Duration,
        then: @escaping @Sendable (Answer) -> Void
    ) {
        let request = Request(statement: statement, deadline: .sinceBoot + TimeAmount(limit), then: then)
        if let error = self.inbox.add(request) { then(.failure(error)) }
    }

    /// Sends a statement, and returns its answer. Throws if the statement or the session fails.
    package func send(
        _ statement: PostgresStatement,
        within limit: Duration
    ) async throws(PostgresError) -> PostgresRows {
        let answer: Answer = await withCheckedContinuation { continuation in
            self.send(statement, within: limit) { continuation.resume(returning: $0) }
        }
        return try answer.get()
    }

    /// Ends the session. Unanswered statements are answered with an error, and may have been carried out.
    package func close() { self.inbox.stop() }
}

extension NIODeadline {
    /// The time since the computer was started, with the time in which it slept.
    package static var sinceBoot: NIODeadline { .uptimeNanoseconds(SystemCalls.nanosecondsSinceBoot) }
}

/// The statements on their way to a session's thread, and the pipe that wakes the thread.
final class PostgresInbox: Sendable {
    private struct State {
        var requests: [PostgresSession.Request] = []
        /// The number of accepted statements without an answer.
        var count = 0
        var stage = Stage.open
    }

    private enum Stage {
        case open
        case closing
        case ended(PostgresError)
    }

    private let state = Locked(State())
    private let ends: (read: Int32, write: Int32)

    init() {
        var ends: [Int32] = [-1, -1]
        // Without descriptors, the thread looks for statements every 50 ms.
        if pipe(&ends) == 0 {
            for end in ends {
                _ = fcntl(end, F_SETFL, O_NONBLOCK)
                _ = fcntl(end, F_SETFD, FD_CLOEXEC)
            }
        }
        self.ends = (ends[0], ends[1])
    }

    deinit {
        for end in [self.ends.read, self.ends.write] where end >= 0 { _ = close(end) }
    }

    /// The descriptor that becomes readable when the thread is woken; -1 without a pipe.
    var descriptor: Int32 { self.ends.read }

    /// Returns an error if the statement is not accepted.
    func add(_ request: PostgresSession.Request) -> PostgresError? {
        let (wakes, error) = self.state.withLock { state -> (Bool, PostgresError?) in
            switch state.stage {
            case .open where state.count < PostgresSession.limit:
                state.requests.append(request)
                state.count += 1
                return (state.requests.count == 1, nil)
            case .open:
                return (false, PostgresError(.refused, "The session has too many statements without an answer."))
            case .closing: return (false, PostgresError(.ended, "The session was closed."))
            case .ended(let error): return (false, error)
            }
        }
        if wakes { self.wake() }
        return error
    }

    func stop() {
        self.state.withLock { if case .open = $0.stage { $0.stage = .closing } }
        self.wake()
    }

    func wake() {
        var byte: UInt8 = 0
        // A full pipe has woken the thread already.
        _ = write(self.ends.write, &byte, 1)
    }

    /// Removes and returns the statements that have come; nil if the session was closed.
    func take() -> [PostgresSession.Request]? {
        var bytes: (UInt64, UInt64) = (0, 0)
        while read(self.ends.read, &bytes, 16) > 0 {}
        return self.state.withLock { state in
            guard case .open = state.stage else { return nil }
            defer { state.requests.removeAll(keepingCapacity: true) }
            return state.requests
        }
    }

    func answered() { self.state.withLock { $0.count -= 1 } }

    /// Refuses later statements, and returns those that the thread has not taken.
    func end(_ error: PostgresError) -> [PostgresSession.Request] {
        self.state.withLock { state in
            state.stage = .ended(error)
            defer { state.requests = [] }
            return state.requests
        }
    }
}

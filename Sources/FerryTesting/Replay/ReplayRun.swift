internal import FerryServer
internal import NIOCore
internal import Synchronization

/// What the connections of a replay over the network share: which is next, and what came of each.
///
/// Safe from any thread.
final class ReplayRun: Sendable {
    private struct State {
        /// Connections that have not begun, the next one first.
        var waiting: ArraySlice<Int>
        var begun: ArraySlice<Int> { self.all.prefix(self.all.count - self.waiting.count) }
        let all: [Int]
        var positions: [Int: Duration] = [:]
        var remaining: Set<Int>
        var failure: (any Error)?
        var channels: [Int: any Channel] = [:]
        /// Whether the time is over, so that nothing is waited for any more.
        var hasExpired = false
    }

    let replay: Replay
    private let parts: [Int: ReplayPart]
    /// Completes when every connection was replayed, fails with the first that was not.
    private let done: EventLoopPromise<Void>
    private let state: Mutex<State>
    /// Called, with the lock left, whenever a connection has moved on.
    private let onProgress: Mutex<(@Sendable () -> Void)?> = Mutex(nil)

    init(_ replay: Replay, on eventLoop: any EventLoop) {
        self.replay = replay
        self.parts = replay.transcript.parts(playing: replay.side)
        self.done = eventLoop.makePromise()
        let connections = replay.transcript.connections
        self.state = Mutex(State(waiting: connections[...], all: connections, remaining: Set(connections)))
        if connections.isEmpty { self.done.succeed() }
    }

    /// The number of the next connection; nil when the transcript has no more.
    func takeNext() -> Int? { self.state.withLock { $0.waiting.popFirst() } }

    /// The number of the next connection, if everything before it in the transcript has happened.
    func takeNextDue() -> Int? {
        self.state.withLock { state in
            guard let next = state.waiting.first, let opening = self.parts[next]?.events.first else { return nil }
            let isDue = state.begun.allSatisfy { connection in
                !state.remaining.contains(connection) || (state.positions[connection] ?? .zero) >= opening.time
            }
            return isDue ? state.waiting.popFirst() : nil
        }
    }

    /// What replays a connection on a channel, which is closed when the run is over.
    ///
    /// - Throws: `ChannelError.alreadyClosed` when the transcript has no such connection.
    func handler(
        _ connection: Int,
        _ channel: any Channel,
        _ socket: SocketHandler,
        isSecure: Bool
    ) throws -> ReplayHandler {
        guard let part = self.parts[connection] else { throw ChannelError.alreadyClosed }
        self.state.withLock { $0.channels[connection] = channel }
        let machine = ReplayMachine(part, mode: self.replay.mode, pace: self.replay.pace, chaos: self.replay.chaos)
        return ReplayHandler(connection, machine, of: self, socket: socket, isSecure: isSecure)
    }

    /// A client that connected once more than the transcript has it.
    func refuse() {
        self.fail(ReplayMismatch(line: 0, connection: 0, expected: "no more connections", found: "another one"))
    }

    func onProgress(_ body: @escaping @Sendable () -> Void) { self.onProgress.withLock { $0 = body } }

    func moved(_ connection: Int, to position: Duration) {
        self.state.withLock { $0.positions[connection] = position }
        self.onProgress.withLock { $0 }?()
    }

    func concluded(_ connection: Int, _ result: Result<Void, any Error>) {
        if case .failure(let error) = result { return self.fail(error) }
        let (isDone, hasExpired) = self.state.withLock { state in
            state.remaining.remove(connection)
            state.channels[connection] = nil
            return (state.remaining.isEmpty && state.failure == nil, state.hasExpired)
        }
        if isDone { self.done.succeed() } else if hasExpired { self.expire() }
        self.onProgress.withLock { $0 }?()
    }

    func fail(_ error: any Error) {
        let isFirst = self.state.withLock { state in
            defer { state.failure = state.failure ?? error }
            return state.failure == nil
        }
        if isFirst { self.done.fail(error) }
    }

    /// Waits for the end; after `limit` what is missing is thrown.
    func finish(within limit: Duration) async throws {
        let deadline = self.done.futureResult.eventLoop.scheduleTask(in: TimeAmount(limit)) { self.expire() }
        defer { deadline.cancel() }
        try await self.done.futureResult.get()
    }

    /// Asks the first connection that is left what is missing; when that is nothing, the next one's turn comes.
    private func expire() {
        let (next, open) = self.state.withLock { state in
            state.hasExpired = true
            let next = state.remaining.min()
            return (next, next.flatMap { state.channels[$0] })
        }
        guard let next else { return }
        guard let open else {
            return self.fail(
                ReplayMismatch(
                    line: self.parts[next]?.events.first?.line ?? 0,
                    connection: next,
                    expected: "a connection",
                    found: "none in time"
                )
            )
        }
        // The handler knows what is missing.
        open.pipeline.fireUserInboundEventTriggered(ReplayHandler.Expiry())
    }

    /// Closes what is open.
    func closeAll() {
        for channel in self.state.withLock({ Array($0.channels.values) }) { channel.close(promise: nil) }
    }
}

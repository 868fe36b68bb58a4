internal import FerryCore
internal import FerryServer
internal import NIOCore

/// The state that the connections of a replay over the network share: the next connection, and the results.
///
/// Safe from any thread.
final class ReplayRun: Sendable {
    private struct State {
        /// The numbers of the connections that have not begun, the next one first.
        var waiting: ArraySlice<Int>
        var begun: ArraySlice<Int> { self.all.prefix(self.all.count - self.waiting.count) }
        let all: [Int]
        var positions: [Int: Duration] = [:]
        /// The events of each connection that have happened, and their sum.
        var events: [Int: Int] = [:]
        var eventCount = 0
        var remaining: Set<Int>
        var failure: (any Error)?
        var channels: [Int: any Channel] = [:]
        /// True if the time is over. Then a connection with missing events fails without further waiting.
        var hasExpired = false
    }

    let replay: Replay
    private let parts: [Int: ReplayPart]
    /// The promise that succeeds when every connection was replayed, and fails with the first error.
    private let done: EventLoopPromise<Void>
    private let state: Locked<State>
    /// Called without the lock whenever a connection has made progress.
    private let onProgress: Locked<(@Sendable () -> Void)?> = Locked(nil)

    init(_ replay: Replay, on eventLoop: any EventLoop) {
        self.replay = replay
        self.parts = replay.transcript.parts(playing: replay.side)
        self.done = eventLoop.makePromise()
        let connections = replay.transcript.connections
        self.state = Locked(State(waiting: connections[...], all: connections, remaining: Set(connections)))
        if connections.isEmpty { self.done.succeed() }
    }

    /// Returns the number of the next connection; nil if the transcript has no more.
    func takeNext() -> Int? { self.state.withLock { $0.waiting.popFirst() } }

    /// Returns the number of the next connection, if all events before it in the transcript have happened.
    func takeNextDue() -> Int? {
        self.state.withLock { state in
            guard let next = state.waiting.first, let opening = self.parts[next]?.events.first else { return nil }
            let isDue = state.begun.allSatisfy { connection in
                !state.remaining.contains(connection) || (state.positions[connection] ?? .zero) >= opening.time
            }
            return isDue ? state.waiting.popFirst() : nil
        }
    }

    /// Creates the handler that replays a connection on a channel. The channel is closed when the run is over.
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

    /// Fails the run: a client opened more connections than the transcript has.
    func refuse() {
        self.fail(ReplayMismatch(line: 0, connection: 0, expected: "no more connections", found: "another one"))
    }

    func onProgress(_ body: @escaping @Sendable () -> Void) { self.onProgress.withLock { $0 = body } }

    func moved(_ connection: Int, to position: Duration, events: Int) {
        let count = self.state.withLock { state in
            state.positions[connection] = position
            state.eventCount += events - (state.events.updateValue(events, forKey: connection) ?? 0)
            return state.eventCount
        }
        self.replay.onEvents?(count)
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

    /// Waits for the end. Throws the missing event if `limit` passes first.
    func finish(within limit: Duration) async throws {
        let deadline = self.done.futureResult.eventLoop.scheduleTask(in: TimeAmount(limit)) { self.expire() }
        defer { deadline.cancel() }
        try await self.done.futureResult.get()
    }

    /// Asks the first unfinished connection for its missing event. If the connection has no missing event, it
    /// concludes, and then the next connection is asked.
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
        // The connection's handler knows the missing event.
        open.pipeline.fireUserInboundEventTriggered(ReplayHandler.Expiry())
    }

    /// Closes the open channels.
    func closeAll() {
        for channel in self.state.withLock({ Array($0.channels.values) }) { channel.close(promise: nil) }
    }
}

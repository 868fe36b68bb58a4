internal import DequeModule
internal import FerryBinary
internal import FerryCore

/// Holds tuples between the event loop, which reads them, and the tasks that take them. Drops no tuple.
final class FeedbackBuffer: Sendable {
    typealias Step = Result<FeedbackTuple?, FeedbackError>

    private struct State {
        var tuples = Deque<FeedbackTuple>()
        var result: Result<FeedbackReport, FeedbackError>?
        /// Whether reading has stopped until tuples are taken.
        var isFull = false
        /// Tasks that wait for a tuple or for the end.
        var waiters: [CheckedContinuation<Void, Never>] = []
        var mostHeld = 0

        /// The next tuple, or the end. Nil if neither is there yet.
        mutating func next() -> Step? {
            if let tuple = self.tuples.popFirst() { return .success(tuple) }
            return self.result?.map { _ in nil }
        }
    }

    private let limit: Int
    /// Called on any thread after tuples or the end came.
    private let onNews: @Sendable () -> Void
    private let state = Locked(State())

    init(limit: Int, onNews: @escaping @Sendable () -> Void = {}) {
        self.limit = max(limit, 1)
        self.onNews = onNews
    }

    /// How the reading ended. Nil while it goes on.
    var result: Result<FeedbackReport, FeedbackError>? { self.state.withLock { $0.result } }
    /// The largest number of tuples that waited at the same time.
    var mostHeld: Int { self.state.withLock { $0.mostHeld } }

    /// Adds tuples at the end. Returns false when reading must stop until ``next(hasRoom:)`` calls `hasRoom`.
    func append(_ tuples: [FeedbackTuple]) -> Bool {
        let (waiters, isFull) = self.state.withLock { state in
            state.tuples.append(contentsOf: tuples)
            state.mostHeld = max(state.mostHeld, state.tuples.count)
            state.isFull = state.tuples.count >= self.limit
            defer { if !tuples.isEmpty { state.waiters = [] } }
            return (tuples.isEmpty ? [] : state.waiters, state.isFull)
        }
        for waiter in waiters { waiter.resume() }
        self.onNews()
        return !isFull
    }

    /// Ends the sequence of tuples. Tuples that are already here are still delivered.
    func finish(_ result: Result<FeedbackReport, FeedbackError>) {
        let waiters = self.state.withLock { state in
            state.result = state.result ?? result
            defer { state.waiters = [] }
            return state.waiters
        }
        for waiter in waiters { waiter.resume() }
        self.onNews()
    }

    /// The next tuple; nil at the end.
    ///
    /// - Parameter hasRoom: called when reading may continue.
    func next(hasRoom: () -> Void) async -> Step {
        while true {
            if let step = self.takeNow(hasRoom: hasRoom) { return step }
            await self.waitForNews()
        }
    }

    /// The next tuple, or the end. Nil if neither is there yet.
    ///
    /// - Parameter hasRoom: called when reading may continue.
    func takeNow(hasRoom: () -> Void) -> Step? {
        let (step, isRoomy) = self.state.withLock { state in
            let step = state.next()
            let isRoomy = state.isFull && state.tuples.count <= self.limit / 2
            if isRoomy { state.isFull = false }
            return (step, isRoomy)
        }
        if isRoomy { hasRoom() }
        return step
    }

    private func waitForNews() async {
        await withCheckedContinuation { continuation in
            let isWaiting = self.state.withLock { state in
                guard state.tuples.isEmpty, state.result == nil else { return false }
                state.waiters.append(continuation)
                return true
            }
            if !isWaiting { continuation.resume() }
        }
    }
}

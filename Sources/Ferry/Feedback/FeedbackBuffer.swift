internal import DequeModule
internal import FerryBinary
internal import Synchronization

/// Tuples between the event loop that reads them and the tasks that take them. Loses none.
final class FeedbackBuffer: Sendable {
    typealias Step = Result<FeedbackTuple?, FeedbackError>

    private struct State {
        var tuples = Deque<FeedbackTuple>()
        var result: Result<FeedbackReport, FeedbackError>?
        /// Nothing more is read until tuples were taken.
        var isFull = false
        /// Tasks that wait for a tuple or the end.
        var waiters: [CheckedContinuation<Void, Never>] = []
        var mostHeld = 0

        /// The next tuple, or the end; nil while there is neither.
        mutating func next() -> Step? {
            if let tuple = self.tuples.popFirst() { return .success(tuple) }
            return self.result?.map { _ in nil }
        }
    }

    private let limit: Int
    private let state = Mutex(State())

    init(limit: Int) {
        self.limit = max(limit, 1)
    }

    /// How the reading ended; nil until then.
    var result: Result<FeedbackReport, FeedbackError>? { self.state.withLock { $0.result } }
    /// How many tuples have waited at a time, at most.
    var mostHeld: Int { self.state.withLock { $0.mostHeld } }

    /// Adds tuples at the end; false when nothing more shall be read until ``next(hasRoom:)`` says so.
    func append(_ tuples: [FeedbackTuple]) -> Bool {
        let (waiters, isFull) = self.state.withLock { state in
            state.tuples.append(contentsOf: tuples)
            state.mostHeld = max(state.mostHeld, state.tuples.count)
            state.isFull = state.tuples.count >= self.limit
            defer { if !tuples.isEmpty { state.waiters = [] } }
            return (tuples.isEmpty ? [] : state.waiters, state.isFull)
        }
        for waiter in waiters { waiter.resume() }
        return !isFull
    }

    /// Ends the tuples, after those that are there.
    func finish(_ result: Result<FeedbackReport, FeedbackError>) {
        let waiters = self.state.withLock { state in
            state.result = state.result ?? result
            defer { state.waiters = [] }
            return state.waiters
        }
        for waiter in waiters { waiter.resume() }
    }

    /// The next tuple; nil at the end.
    ///
    /// - Parameter hasRoom: called when reading may go on.
    func next(hasRoom: () -> Void) async -> Step {
        while true {
            let (step, isRoomy) = self.state.withLock { state in
                let step = state.next()
                let isRoomy = state.isFull && state.tuples.count <= self.limit / 2
                if isRoomy { state.isFull = false }
                return (step, isRoomy)
            }
            if isRoomy { hasRoom() }
            if let step { return step }
            await self.waitForNews()
        }
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

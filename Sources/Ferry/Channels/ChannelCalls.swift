internal import FerryCore
internal import FerryHTTP2

/// The calls, from any thread, that wait for a result from the event loop of a ``ChannelManager``.
///
/// Once the manager has ended, every call is answered at once, without the loop.
final class ChannelCalls: Sendable {
    typealias Answer = Result<ChannelResult, ChannelManagerError>
    private typealias Continuation = CheckedContinuation<Answer, Never>

    private struct State {
        /// The calls that wait. Nil: the call was made, and its task does not wait yet.
        var waiting: [UInt64: Continuation?] = [:]
        /// The results of calls whose task does not wait yet.
        var early: [UInt64: Answer] = [:]
        var shutdowns: [CheckedContinuation<Void, Never>] = []
        var last: UInt64 = 0
        var hasEnded = false
    }

    private let limit: Int
    private let state = Locked(State())

    init(limit: Int) {
        self.limit = max(limit, 1)
    }

    /// Makes a call, and returns its number.
    func begin() throws(ChannelManagerError) -> UInt64 {
        let number = self.state.withLock { state -> Result<UInt64, ChannelManagerError> in
            guard !state.hasEnded else { return .failure(Self.ended) }
            guard state.waiting.count < self.limit else {
                return .failure(
                    ChannelManagerError(
                        .tooManyCalls,
                        "\(self.limit) calls about channels wait already. Wait for one before the next."
                    )
                )
            }
            state.last += 1
            state.waiting[state.last] = .some(nil)
            return .success(state.last)
        }
        return try number.get()
    }

    /// Waits for the result of a call.
    func result(of number: UInt64) async -> Answer {
        await withCheckedContinuation { continuation in
            let answer = self.state.withLock { state -> Answer? in
                if let answer = state.early.removeValue(forKey: number) { return answer }
                state.waiting[number] = continuation
                return nil
            }
            if let answer { continuation.resume(returning: answer) }
        }
    }

    /// Answers a call. Does nothing if the call was answered before.
    func settle(_ number: UInt64, _ answer: Answer) {
        let continuation = self.state.withLock { state -> Continuation? in
            guard let waiting = state.waiting.removeValue(forKey: number) else { return nil }
            if waiting == nil { state.early[number] = answer }
            return waiting
        }
        continuation?.resume(returning: answer)
    }

    /// Waits until the manager has ended.
    func waitForEnd() async {
        await withCheckedContinuation { continuation in
            let hasEnded = self.state.withLock { state in
                if !state.hasEnded { state.shutdowns.append(continuation) }
                return state.hasEnded
            }
            if hasEnded { continuation.resume() }
        }
    }

    /// Answers all calls, and every later one.
    func end() {
        let (waiting, shutdowns) = self.state.withLock { state in
            state.hasEnded = true
            defer { (state.waiting, state.shutdowns) = ([:], []) }
            for (number, continuation) in state.waiting where continuation == nil {
                state.early[number] = .failure(Self.ended)
            }
            return (state.waiting.values.compactMap(\.self), state.shutdowns)
        }
        for continuation in waiting { continuation.resume(returning: .failure(Self.ended)) }
        for continuation in shutdowns { continuation.resume() }
    }

    private static let ended = ChannelManagerError(.shutDown, "The channel manager was shut down: nothing was sent.")
}

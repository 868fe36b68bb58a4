internal import FerryCore
internal import FerryPlatform

/// The list of a ``SimulatedFeedback``, and its counts. Safe from any thread.
final class SimulatedFeedbackList: Sendable {
    private struct State {
        var tuples: [FeedbackScript.Tuple]
        /// The tokens of ``tuples``.
        var tokens: Set<[UInt8]>
        /// The number of connections that got an answer.
        var answers = 0
    }

    private let script: FeedbackScript
    private let tally: Tally<FeedbackCounts>
    private let state: Locked<State>

    init(_ script: FeedbackScript, _ tally: Tally<FeedbackCounts>) {
        self.script = script
        self.tally = tally
        self.state = Locked(State(tuples: script.tuples, tokens: Set(script.tuples.map(\.token))))
    }

    var tuples: [FeedbackScript.Tuple] { self.state.withLock { $0.tuples } }

    /// The system's clock, in UNIX seconds.
    static var now: UInt32 { UInt32(clamping: time(nil)) }

    func add(_ tuple: FeedbackScript.Tuple, unlessListed: Bool = false) {
        self.state.withLock { state in
            let isNew = state.tokens.insert(tuple.token).inserted
            if isNew || !unlessListed { state.tuples.append(tuple) }
        }
    }

    /// Returns the answer for a connection that has finished its handshake.
    func takeAnswer() -> FeedbackAnswer {
        self.state.withLock { state in
            let isFaulty = state.answers < self.script.times ?? .max
            state.answers += 1
            let answer = FeedbackAnswer(
                state.tuples,
                pieceLength: self.script.pieceLength,
                fault: isFaulty ? self.script.fault : nil
            )
            if answer.clears {
                self.tally.update { $0.tuples += state.tuples.count }
                state.tuples = []
                state.tokens = []
            }
            return answer
        }
    }
}

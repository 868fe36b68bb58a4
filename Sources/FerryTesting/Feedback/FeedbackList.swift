internal import Synchronization

#if canImport(Glibc)
private import Glibc
#elseif canImport(Musl)
private import Musl
#else
private import Darwin
#endif

/// The list of a ``SimulatedFeedback``, and what happened to it. Safe from any thread.
final class FeedbackList: Sendable {
    private struct State {
        var tuples: [FeedbackScript.Tuple]
        /// The tokens of ``tuples``.
        var tokens: Set<[UInt8]>
        var counts = FeedbackCounts()
    }

    private let script: FeedbackScript
    private let state: Mutex<State>

    init(_ script: FeedbackScript) {
        self.script = script
        self.state = Mutex(State(tuples: script.tuples, tokens: Set(script.tuples.map(\.token))))
    }

    var tuples: [FeedbackScript.Tuple] { self.state.withLock { $0.tuples } }
    var counts: FeedbackCounts { self.state.withLock { $0.counts } }

    /// The system's clock, in UNIX seconds.
    static var now: UInt32 { UInt32(clamping: time(nil)) }

    func add(_ tuple: FeedbackScript.Tuple, unlessListed: Bool = false) {
        self.state.withLock { state in
            let isNew = state.tokens.insert(tuple.token).inserted
            if isNew || !unlessListed { state.tuples.append(tuple) }
        }
    }

    func countConnection() {
        self.state.withLock { $0.counts.connections += 1 }
    }

    func countHandshakeFailure() {
        self.state.withLock { $0.counts.handshakeFailures += 1 }
    }

    /// What a connection gets whose handshake is done.
    func takeAnswer() -> FeedbackAnswer {
        self.state.withLock { state in
            let isFaulty = state.counts.handshakes < self.script.times ?? .max
            state.counts.handshakes += 1
            let answer = FeedbackAnswer(
                state.tuples,
                pieceLength: self.script.pieceLength,
                fault: isFaulty ? self.script.fault : nil
            )
            if answer.clears {
                state.counts.tuples += state.tuples.count
                state.tuples = []
                state.tokens = []
            }
            return answer
        }
    }
}

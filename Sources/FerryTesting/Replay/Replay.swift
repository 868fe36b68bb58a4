/// A transcript, the side that Ferry plays, and the settings of the replay.
public struct Replay: Sendable {
    /// The timing of the played side.
    @nonexhaustive
    public enum Pace: Sendable, Hashable {
        /// Each event happens as soon as the peer has sent the bytes that precede it in the transcript.
        case immediate
        /// Each event follows the previous one after the same time as in the transcript.
        case recorded
    }

    /// The recorded connections.
    public var transcript: Transcript
    /// The side that Ferry plays. The other side is under test.
    public var side: Transcript.Side
    /// The strictness of the comparison with the transcript.
    public var mode: ReplayMode
    /// The timing of the played side.
    public var pace: Pace = .immediate
    /// The disturbances of the played side; nil: no disturbance.
    public var chaos: ReplayChaos?
    /// Called with the number of events that have happened, from any thread.
    package var onEvents: (@Sendable (Int) -> Void)?

    /// Creates a replay without delays and without disturbances.
    public init(_ transcript: Transcript, playing side: Transcript.Side, mode: ReplayMode = .semantic) {
        self.transcript = transcript
        self.side = side
        self.mode = mode
    }
}

/// A transcript, the side of it that is played, and how.
public struct Replay: Sendable {
    /// When what is played goes out.
    @nonexhaustive
    public enum Pace: Sendable, Hashable {
        /// As soon as the peer has sent what it sent before that in the transcript.
        case immediate
        /// After the same time as in the transcript since the event before.
        case recorded
    }

    /// What was recorded.
    public var transcript: Transcript
    /// Which side is played; the other one is under test.
    public var side: Transcript.Side
    /// How strictly the other side is compared with the transcript.
    public var mode: ReplayMode
    /// When what is played goes out.
    public var pace: Pace = .immediate
    /// What is done to it on the way.
    public var chaos: ReplayChaos?

    /// A replay at once and undisturbed.
    public init(_ transcript: Transcript, playing side: Transcript.Side, mode: ReplayMode = .semantic) {
        self.transcript = transcript
        self.side = side
        self.mode = mode
    }
}

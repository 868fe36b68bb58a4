/// The disturbances of a replay's own side: the bytes are split differently, delayed, or cut off. The bytes that are
/// sent do not change.
public struct ReplayChaos: Sendable, Hashable {
    /// The division of the bytes into pieces.
    @nonexhaustive
    public enum Split: Sendable, Hashable {
        /// The bytes are sent as in the transcript.
        case asRecorded
        /// There is one additional cut, after that many bytes of this side of the connection.
        case at(Int)
        /// Each byte is a piece.
        case everywhere
        /// The pieces have 1 to 64 bytes, at random.
        case random
    }

    /// The division of the bytes into pieces.
    public var split = Split.asRecorded
    /// The longest delay. Each piece, and each end, is delayed by a random time up to this.
    public var delay: Duration = .zero
    /// After this many bytes of this side, the connection ends early. Later bytes of the peer are not compared.
    public var cut: Int?
    /// The seed of all random choices. Equal seeds give equal choices.
    public var seed: UInt64

    /// Creates chaos without disturbances. Set the properties to add them.
    public init(seed: UInt64 = 0) {
        self.seed = seed
    }
}

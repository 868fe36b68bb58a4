/// What a replay does to its own side of the transcript: the same bytes, in other pieces, at other times, or not all.
public struct ReplayChaos: Sendable, Hashable {
    /// How bytes are cut into pieces.
    @nonexhaustive
    public enum Split: Sendable, Hashable {
        /// As they stand in the transcript.
        case asRecorded
        /// In one more place: so many bytes into everything that this side of the connection sends.
        case at(Int)
        /// Each byte by itself.
        case everywhere
        /// Into pieces of 1 to 64 bytes, at random.
        case random
    }

    /// How bytes are cut into pieces.
    public var split = Split.asRecorded
    /// The longest time by which a piece, or an end, is delayed; each by a random part of it.
    public var delay: Duration = .zero
    /// The connection ends without a word after so many bytes of this side. Nothing is compared from then on.
    public var cut: Int?
    /// Decides what is random.
    public var seed: UInt64

    /// As recorded, until a property says otherwise.
    public init(seed: UInt64 = 0) {
        self.seed = seed
    }
}

internal import FerryMachine

/// The progress of a ``ReplayChaos`` on one connection.
struct ChaosState {
    private let chaos: ReplayChaos
    private var generator: SplitMix64
    /// The number of bytes that this side has sent.
    private var sent = 0

    init(_ chaos: ReplayChaos?) {
        self.chaos = chaos ?? ReplayChaos()
        self.generator = SplitMix64(seed: self.chaos.seed)
    }

    /// Returns the delay of the next piece.
    mutating func delay() -> Duration {
        guard self.chaos.delay > .zero else { return .zero }
        return self.chaos.delay * Double.random(in: 0...1, using: &self.generator)
    }

    /// Splits bytes into pieces that are not empty. Says whether the connection is cut after them.
    mutating func pieces(_ bytes: [UInt8]) -> (pieces: [[UInt8]], isCut: Bool) {
        var rest = bytes[...]
        if let cut = self.chaos.cut { rest = rest.prefix(max(cut - self.sent, 0)) }
        var pieces: [[UInt8]] = []
        while !rest.isEmpty {
            let length = min(self.pieceLength(), rest.count)
            pieces.append(Array(rest.prefix(length)))
            rest = rest.dropFirst(length)
            self.sent += length
        }
        return (pieces, self.chaos.cut == self.sent)
    }

    private mutating func pieceLength() -> Int {
        switch self.chaos.split {
        case .asRecorded: .max
        case .at(let place): place > self.sent ? place - self.sent : .max
        case .everywhere: 1
        case .random: Int.random(in: 1...Self.longestPiece, using: &self.generator)
        }
    }

    private static let longestPiece = 64
}

internal import FerryBinary

/// Works a ``ReplayChaos`` off, piece by piece.
struct ChaosState {
    private let chaos: ReplayChaos
    private var generator: SplitMix64
    /// How many bytes of this side have gone out.
    private var sent = 0

    init(_ chaos: ReplayChaos?) {
        self.chaos = chaos ?? ReplayChaos()
        self.generator = SplitMix64(seed: self.chaos.seed)
    }

    /// How long the next piece waits.
    mutating func delay() -> Duration {
        guard self.chaos.delay > .zero else { return .zero }
        return self.chaos.delay * Double.random(in: 0...1, using: &self.generator)
    }

    /// The pieces of some bytes, none of them empty, and whether the connection is cut behind them.
    mutating func pieces(_ bytes: [UInt8]) -> (pieces: [[UInt8]], isCut: Bool) {
        var pieces: [[UInt8]] = []
        var piece: [UInt8] = []
        for byte in bytes {
            if self.chaos.cut == self.sent { break }
            if !piece.isEmpty && self.splits() {
                pieces.append(piece)
                piece = []
            }
            piece.append(byte)
            self.sent += 1
        }
        if !piece.isEmpty { pieces.append(piece) }
        return (pieces, self.chaos.cut == self.sent)
    }

    private mutating func splits() -> Bool {
        switch self.chaos.split {
        case .asRecorded: false
        case .at(let place): place == self.sent
        case .everywhere: true
        case .random: Int.random(in: 0..<32, using: &self.generator) == 0
        }
    }
}

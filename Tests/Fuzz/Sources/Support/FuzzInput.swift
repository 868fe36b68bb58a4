import NIOCore

/// The input of a fuzz target, consumed from the front. Past the end, all bytes are zero.
struct FuzzInput {
    private var bytes: Slice<UnsafeBufferPointer<UInt8>>

    /// - Parameter bytes: memory that stays as it is while the target runs.
    init(_ bytes: UnsafeBufferPointer<UInt8>) {
        self.bytes = bytes[...]
    }

    var isEmpty: Bool { self.bytes.isEmpty }

    mutating func byte() -> UInt8 { self.bytes.popFirst() ?? 0 }

    mutating func uint32() -> UInt32 { (0..<4).reduce(0) { number, _ in number << 8 | UInt32(self.byte()) } }

    /// Takes one byte, and returns a number of `range`.
    mutating func number(_ range: ClosedRange<Int>) -> Int {
        range.lowerBound + Int(self.byte()) % range.count
    }

    /// The bytes that are not consumed.
    var rest: UnsafeBufferPointer<UInt8> { UnsafeBufferPointer(rebasing: self.bytes) }

    /// Splits the input into pieces. Its first bytes give the number of cuts, then their positions.
    ///
    /// - Returns: the remaining input as a whole, and in pieces.
    mutating func pieces() -> (whole: ByteBuffer, pieces: [ByteBuffer]) {
        let cuts = (0..<self.number(0...7)).map { _ in Int(self.byte()) << 8 | Int(self.byte()) }
        let whole = ByteBuffer(bytes: self.rest)
        var rest = whole
        var pieces = cuts.map { rest.readSlice(length: $0 % (rest.readableBytes + 1)) ?? ByteBuffer() }
        pieces.append(rest)
        return (whole, pieces)
    }
}

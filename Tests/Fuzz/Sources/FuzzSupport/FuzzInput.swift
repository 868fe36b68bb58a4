public import NIOCore

/// The input from libFuzzer, consumed from the front. Past the end, all bytes are zero.
public struct FuzzInput {
    private var bytes: Slice<UnsafeBufferPointer<UInt8>>

    /// - Parameter start: the memory that `LLVMFuzzerTestOneInput` gets.
    public init(_ start: UnsafePointer<UInt8>?, _ count: Int) {
        self.bytes = UnsafeBufferPointer(start: start, count: count)[...]
    }

    public var isEmpty: Bool { self.bytes.isEmpty }

    public mutating func byte() -> UInt8 { self.bytes.popFirst() ?? 0 }

    public mutating func uint32() -> UInt32 { (0..<4).reduce(0) { number, _ in number << 8 | UInt32(self.byte()) } }

    /// Takes one byte, and returns a number of `range`.
    public mutating func number(_ range: ClosedRange<Int>) -> Int {
        range.lowerBound + Int(self.byte()) % range.count
    }

    /// The bytes that are not consumed.
    public var rest: UnsafeBufferPointer<UInt8> { UnsafeBufferPointer(rebasing: self.bytes) }

    /// Splits the input into pieces. Its first bytes give the number of cuts, then their positions.
    ///
    /// - Returns: the remaining input as a whole, and in pieces.
    public mutating func pieces() -> (whole: ByteBuffer, pieces: [ByteBuffer]) {
        let cuts = (0..<self.number(0...7)).map { _ in Int(self.byte()) << 8 | Int(self.byte()) }
        let whole = ByteBuffer(bytes: self.rest)
        var rest = whole
        var pieces = cuts.map { rest.readSlice(length: $0 % (rest.readableBytes + 1)) ?? ByteBuffer() }
        pieces.append(rest)
        return (whole, pieces)
    }
}

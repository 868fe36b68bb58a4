/// What the events file says of some consecutive lines beside their outcome: for each line the beginning of its JSON
/// object, `{"ref":…,"token":"…"`, without an object in memory for each.
///
/// Unchecked because one task fills it and then hands it over, through a lock, to the one that writes events.
final class LineRecords: @unchecked Sendable {
    /// The index of the first line.
    let first: UInt64
    /// Where each line's beginning ends in ``bytes``.
    private var ends: [UInt32] = []
    private var bytes: [UInt8] = []
    /// How many lines have no outcome yet.
    private(set) var unsettled = 0

    init(first: UInt64, capacity: Int) {
        self.first = first
        self.ends.reserveCapacity(capacity)
        self.bytes.reserveCapacity(capacity * 96)
    }

    /// How many lines there are, with those that have no record.
    var count: Int { self.ends.count }

    /// Whether ``forget()`` was called.
    private(set) var isForgotten = false

    /// Bytes in memory.
    var size: Int { Self.overhead + self.bytes.capacity + self.ends.capacity * MemoryLayout<UInt32>.stride }
    /// What the object and its arrays have beside their content.
    private static let overhead = 256

    /// Adds the line with that index, which lies behind all others; lines in between have no record.
    func append(_ index: UInt64, ref: UnsafeBufferPointer<UInt8>?, hex: UnsafeBufferPointer<UInt8>) {
        let end = self.ends.last ?? 0
        while self.ends.count < Int(index - self.first) { self.ends.append(end) }
        if let ref {
            self.bytes.append(#"{"ref":"#)
            self.bytes.append(contentsOf: ref)
            self.bytes.append(#","token":""#)
        } else {
            self.bytes.append(#"{"token":""#)
        }
        self.bytes.append(contentsOf: hex)
        self.bytes.append(UInt8(ascii: "\""))
        self.ends.append(UInt32(self.bytes.count))
        self.unsettled += 1
    }

    /// Gives back what was reserved and not needed; to be called when the last line was added.
    func shrink() {
        guard self.bytes.capacity > self.bytes.count * 2 else { return }
        self.bytes = self.bytes.withUnsafeBufferPointer { Array($0) }
        self.ends = self.ends.withUnsafeBufferPointer { Array($0) }
    }

    /// Gives the beginning of a line to `body`; false when there is none.
    func withBeginning(of index: UInt64, _ body: (UnsafeBufferPointer<UInt8>) -> Void) -> Bool {
        let place = Int(index - self.first)
        guard place < self.ends.count else { return false }
        let start = place == 0 ? 0 : Int(self.ends[place - 1])
        let end = Int(self.ends[place])
        guard start < end, end <= self.bytes.count else { return false }
        self.bytes.withUnsafeBufferPointer { body(UnsafeBufferPointer(rebasing: $0[start..<end])) }
        return true
    }

    /// Notes an outcome; true when it was the last.
    func settle() -> Bool {
        self.unsettled -= 1
        return self.unsettled == 0
    }

    /// Frees the memory.
    func forget() {
        self.isForgotten = true
        self.bytes = []
        self.ends = []
    }
}

extension [UInt8] {
    mutating func append(_ text: StaticString) {
        text.withUTF8Buffer { self.append(contentsOf: $0) }
    }
}

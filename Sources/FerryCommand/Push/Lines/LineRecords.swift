/// The beginnings of events for consecutive lines of the input: for each line the start of its JSON object,
/// `{"ref":…,"token":"…"`. One object holds many lines, which saves an allocation for each.
///
/// Unchecked, because one task fills it and then passes it, through a lock, to the task that writes events.
final class LineRecords: @unchecked Sendable {
    /// The index of the first line.
    let first: UInt64
    /// The end of each line's beginning in ``bytes``.
    private var ends: [UInt32] = []
    private var bytes: [UInt8] = []
    /// The number of lines without an outcome.
    private(set) var unsettled = 0

    init(first: UInt64, capacity: Int) {
        self.first = first
        self.ends.reserveCapacity(capacity)
        self.bytes.reserveCapacity(capacity * 96)
    }

    /// The number of lines, including those without a record.
    var count: Int { self.ends.count }

    /// Whether ``forget()`` was called.
    private(set) var isForgotten = false

    /// The size in bytes of memory.
    var size: Int { Self.overhead + self.bytes.capacity + self.ends.capacity * MemoryLayout<UInt32>.stride }
    /// The size of the object and its arrays without their content.
    private static let overhead = 256

    /// Adds the line with this index, which must follow all others. Lines in between get no record.
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

    /// Releases unused capacity. Call it after the last line was added.
    func shrink() {
        guard self.bytes.capacity > self.bytes.count * 2 else { return }
        self.bytes = self.bytes.withUnsafeBufferPointer { Array($0) }
        self.ends = self.ends.withUnsafeBufferPointer { Array($0) }
    }

    /// Passes a line's beginning to `body`. Returns false if the line has no record.
    func withBeginning(of index: UInt64, _ body: (UnsafeBufferPointer<UInt8>) -> Void) -> Bool {
        let place = Int(index - self.first)
        guard place < self.ends.count else { return false }
        let start = place == 0 ? 0 : Int(self.ends[place - 1])
        let end = Int(self.ends[place])
        guard start < end, end <= self.bytes.count else { return false }
        self.bytes.withUnsafeBufferPointer { body(UnsafeBufferPointer(rebasing: $0[start..<end])) }
        return true
    }

    /// Notes an outcome. Returns true if it was the last.
    func settle() -> Bool {
        self.unsettled -= 1
        return self.unsettled == 0
    }

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

    /// Appends the text, and the number behind it.
    mutating func append(_ text: StaticString, number: some BinaryInteger) {
        self.append(text)
        self.append(contentsOf: String(number).utf8)
    }
}

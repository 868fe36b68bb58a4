/// The data of one stream in a session: the bytes that arrived, and the bytes to send.
///
/// A slot lies in memory of the ``Inbox`` and serves one stream after the other. It keeps its own memory for the next
/// stream.
struct StreamSlot {
    /// The limit of all names and values together, in bytes, with the overhead for each field.
    static let fieldsLimit = 16 << 10

    /// 0 while the slot is free.
    var streamID: Int32 = 0
    /// The number of streams that have used the slot.
    var generation: UInt32 = 0
    /// The next free slot; -1 if there is none.
    var nextFree: Int32 = -1

    /// Whether the end of the stream was reported.
    var isClosed = false
    /// Whether the peer has sent its whole message.
    var isEnded = false
    /// Whether the fields of a final response, or of the request, have arrived. Fields after them are trailers.
    var hasFinalFields = false
    var isBodyTruncated = false
    /// The fields, one after the other: length of the name and of the value, 2 bytes each; name; value.
    var fields = ByteStore()
    var body = ByteStore()

    /// The bytes that are still to be sent.
    var source: UnsafePointer<UInt8>?
    var sourceCount = 0
    /// A copy of the bytes to send, if their owner does not keep them.
    var copy = ByteStore()

    mutating func begin(streamID: Int32) {
        self.streamID = streamID
        self.isClosed = false
        self.isEnded = false
        self.hasFinalFields = false
        self.isBodyTruncated = false
        self.fields.count = 0
        self.body.count = 0
        self.source = nil
        self.sourceCount = 0
    }

    /// Notes a field; returns false when the fields are too long.
    mutating func add(_ name: UnsafePointer<UInt8>, _ nameCount: Int, _ value: UnsafePointer<UInt8>, _ count: Int)
        -> Bool
    {
        let total = nameCount + count + 4
        guard self.fields.count + total <= Self.fieldsLimit else { return false }
        self.fields.append(total) { target in
            target.storeBytes(of: UInt16(truncatingIfNeeded: nameCount), as: UInt16.self)
            target.storeBytes(of: UInt16(truncatingIfNeeded: count), toByteOffset: 2, as: UInt16.self)
            (target + 4).copyMemory(from: name, byteCount: nameCount)
            (target + 4 + nameCount).copyMemory(from: value, byteCount: count)
        }
        return true
    }

    /// Calls `body` with the name and the value of each field.
    func forEachField(_ body: (UnsafeBufferPointer<UInt8>, UnsafeBufferPointer<UInt8>) -> Void) {
        guard let start = self.fields.start else { return }
        var offset = 0
        while offset + 4 <= self.fields.count {
            let raw = UnsafeRawPointer(start + offset)
            let nameCount = Int(raw.loadUnaligned(as: UInt16.self))
            let valueCount = Int(raw.loadUnaligned(fromByteOffset: 2, as: UInt16.self))
            let name = start + offset + 4
            body(
                UnsafeBufferPointer(start: name, count: nameCount),
                UnsafeBufferPointer(start: name + nameCount, count: valueCount)
            )
            offset += 4 + nameCount + valueCount
        }
    }

    /// Whether the fields so far belong to an informational response (1xx).
    var isInformational: Bool {
        var isInformational = false
        self.forEachField { name, value in
            // The only pseudo-field of a response is `:status`.
            if name.first == UInt8(ascii: ":") { isInformational = value.first == UInt8(ascii: "1") }
        }
        return isInformational
    }

    func releaseMemory() {
        self.fields.release()
        self.body.release()
        self.copy.release()
    }
}

/// A store of bytes in memory that grows and is reused.
struct ByteStore {
    private(set) var start: UnsafeMutablePointer<UInt8>?
    private var capacity = 0
    var count = 0

    var bytes: UnsafeBufferPointer<UInt8> { UnsafeBufferPointer(start: self.start, count: self.count) }

    @inline(__always)
    mutating func append(_ added: Int, fill: (UnsafeMutableRawPointer) -> Void) {
        if self.count + added > self.capacity { self.grow(to: self.count + added) }
        guard let start else { return }
        fill(UnsafeMutableRawPointer(start + self.count))
        self.count += added
    }

    mutating func append(_ source: UnsafePointer<UInt8>, _ added: Int) {
        self.append(added) { $0.copyMemory(from: source, byteCount: added) }
    }

    private mutating func grow(to needed: Int) {
        let capacity = max(needed, self.capacity * 2, 256)
        let grown = UnsafeMutablePointer<UInt8>.allocate(capacity: capacity)
        if let start {
            grown.update(from: start, count: self.count)
            start.deallocate()
        }
        self.start = grown
        self.capacity = capacity
    }

    func release() {
        self.start?.deallocate()
    }
}

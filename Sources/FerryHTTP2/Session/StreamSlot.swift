/// The data of one stream in a session: the bytes that arrived, and the bytes to send.
///
/// A slot lies in memory of the ``Inbox`` and serves one stream after the other. It keeps its own memory for the next
/// stream.
struct StreamSlot {
    /// The limit of all names and values together, in bytes, with the overhead for each field.
    static let fieldsLimit = 16 << 10

    /// 0 while the slot is free.
    private(set) var streamID: Int32 = 0
    /// The number of streams that have used the slot.
    private(set) var generation: UInt32 = 0
    /// The next free slot; -1 if there is none.
    private(set) var nextFree: Int32 = -1

    /// Whether the end of the stream was reported.
    private(set) var isClosed = false
    /// Whether the peer has sent its whole message.
    private(set) var isEnded = false
    /// Whether the fields of a final response, or of the request, have arrived. Fields after them are trailers.
    private(set) var hasFinalFields = false
    private(set) var isBodyTruncated = false
    /// The fields, one after the other: length of the name and of the value, 2 bytes each; name; value.
    private(set) var fields = ByteStore()
    private(set) var body = ByteStore()

    /// The bytes that are still to be sent.
    private var source: UnsafePointer<UInt8>?
    private(set) var sourceCount = 0
    /// A copy of the bytes to send, if their owner does not keep them.
    private var copy = ByteStore()

    // MARK: Its stream

    /// Puts the slot before `nextFree` into the list of free slots.
    mutating func link(before nextFree: Int32) { self.nextFree = nextFree }

    /// Frees the slot: handles of its stream lead nowhere from now on.
    mutating func free(before nextFree: Int32) {
        self.generation &+= 1
        self.streamID = 0
        self.nextFree = nextFree
    }

    /// Notes the number that libnghttp2 gave a request.
    mutating func number(_ streamID: Int32) { self.streamID = streamID }

    mutating func begin(streamID: Int32) {
        self.streamID = streamID
        self.isClosed = false
        self.isEnded = false
        self.hasFinalFields = false
        self.isBodyTruncated = false
        self.fields.clear()
        self.body.clear()
        self.source = nil
        self.sourceCount = 0
    }

    /// Notes that the end of the stream is reported. Returns false if it was reported before, or there is no stream.
    mutating func close() -> Bool {
        guard self.streamID != 0, !self.isClosed else { return false }
        self.isClosed = true
        return true
    }

    // MARK: The peer's message

    /// Notes the begin of a block of fields. A final response replaces an informational one (1xx) before it.
    mutating func fieldsBegin() {
        if !self.hasFinalFields { self.fields.clear() }
    }

    /// Notes the end of a block of fields. Returns false for trailers.
    mutating func fieldsEnd() -> Bool {
        guard !self.hasFinalFields else { return false }
        self.hasFinalFields = !self.isInformational
        return true
    }

    /// Notes bytes of the body, of which at most `limit` are kept.
    mutating func add(body bytes: UnsafePointer<UInt8>, _ count: Int, limit: Int) {
        let room = limit - self.body.count
        if count > room { self.isBodyTruncated = true }
        if room > 0 { self.body.append(bytes, min(count, room)) }
    }

    /// Notes that the peer has sent its whole message.
    mutating func end() { self.isEnded = true }

    // MARK: Our own message

    /// Sends bytes that their owner keeps in place.
    mutating func send(_ bytes: UnsafeBufferPointer<UInt8>) {
        self.source = bytes.baseAddress
        self.sourceCount = bytes.count
    }

    /// Sends a copy of the bytes.
    mutating func send(copyOf bytes: [UInt8]) {
        self.copy.clear()
        bytes.withUnsafeBufferPointer { bytes in
            guard let base = bytes.baseAddress else { return }
            self.copy.append(base, bytes.count)
        }
        self.send(self.copy.bytes)
    }

    /// Copies the next bytes to send, at most `limit`. Returns their number, and whether they are the last.
    mutating func takeBytes(_ target: UnsafeMutablePointer<UInt8>, atMost limit: Int) -> (count: Int, areLast: Bool) {
        let count = min(limit, self.sourceCount)
        if let source = self.source {
            target.update(from: source, count: count)
            self.source = source + count
        }
        self.sourceCount -= count
        return (count, self.sourceCount == 0)
    }

    // MARK: Fields

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
    private(set) var count = 0

    var bytes: UnsafeBufferPointer<UInt8> { UnsafeBufferPointer(start: self.start, count: self.count) }

    /// Removes all bytes, and keeps the memory.
    mutating func clear() { self.count = 0 }

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

/// The events that libnghttp2 reported during one call, and the slots of its streams.
///
/// The callbacks only append here. The session's owner reads the events after the call has returned. The inbox lives on
/// the heap, because the callbacks know it by its address.
struct Inbox: ~Copyable {
    let role: HTTP2Session.Role
    let maximumBodyLength: Int
    private(set) var slots: UnsafeMutablePointer<StreamSlot>
    private var slotCount: Int
    private var firstFree: Int32 = -1
    private var events: [HTTP2Session.Event] = []
    private var eventIndex = 0
    /// The slot of the last ``HTTP2Session/Event/closed(_:errorCode:)``. It is freed when the next event is read.
    private var closedSlot: Int32 = -1
    /// Whether a GOAWAY arrived or the owner sent one. If so, the session ends with its last stream.
    private(set) var isEnding = false
    /// The number of streams with a slot.
    private(set) var openCount = 0
    /// The number of body bytes of open streams that are still to be sent.
    private(set) var unsentCount = 0
    /// The slot whose body the connection's flow-control window has cut; -1 if there is none.
    private var cutSlot: Int32 = -1
    var hasCutBody: Bool { self.cutSlot >= 0 }

    init(role: HTTP2Session.Role, maximumBodyLength: Int) {
        self.role = role
        self.maximumBodyLength = maximumBodyLength
        self.slotCount = 16
        self.slots = .allocate(capacity: self.slotCount)
        self.slots.initialize(repeating: StreamSlot(), count: self.slotCount)
        self.link(0..<self.slotCount)
    }

    deinit {
        for index in 0..<self.slotCount { self.slots[index].releaseMemory() }
        self.slots.deallocate()
    }

    private mutating func link(_ range: Range<Int>) {
        for index in range.reversed() {
            self.slots[index].link(before: self.firstFree)
            self.firstFree = Int32(truncatingIfNeeded: index)
        }
    }

    // MARK: Slots

    /// Gives a stream a slot.
    mutating func open(streamID: Int32) -> Int {
        if self.firstFree < 0 { self.grow() }
        let index = Int(self.firstFree)
        self.firstFree = self.slots[index].nextFree
        self.slots[index].begin(streamID: streamID)
        self.openCount += 1
        return index
    }

    private mutating func grow() {
        let count = self.slotCount * 2
        let grown = UnsafeMutablePointer<StreamSlot>.allocate(capacity: count)
        grown.moveInitialize(from: self.slots, count: self.slotCount)
        (grown + self.slotCount).initialize(repeating: StreamSlot(), count: self.slotCount)
        self.slots.deallocate()
        self.slots = grown
        self.link(self.slotCount..<count)
        self.slotCount = count
    }

    /// Frees a slot at once, for a stream that was never reported.
    mutating func free(_ index: Int) {
        if !self.slots[index].isClosed { self.forgetBody(of: index) }
        self.slots[index].free(before: self.firstFree)
        self.firstFree = Int32(truncatingIfNeeded: index)
        self.openCount -= 1
    }

    func handle(_ index: Int) -> HTTP2Session.Stream {
        HTTP2Session.Stream(index: UInt32(truncatingIfNeeded: index), generation: self.slots[index].generation)
    }

    /// Returns the slot of a stream; nil when another stream uses it now.
    func index(of stream: HTTP2Session.Stream) -> Int? {
        let index = Int(stream.index)
        guard index < self.slotCount, self.slots[index].generation == stream.generation,
            self.slots[index].streamID != 0
        else { return nil }
        return index
    }

    /// Returns the slot in a stream's user data of libnghttp2: the slot's number plus one.
    func index(userData: UnsafeMutableRawPointer?) -> Int? {
        let index = Int(bitPattern: userData) - 1
        guard index >= 0, index < self.slotCount else { return nil }
        return index
    }

    static func userData(_ index: Int) -> UnsafeMutableRawPointer? { UnsafeMutableRawPointer(bitPattern: index + 1) }

    /// Returns the slot of a stream by its identifier. O(slots), so use it only in rare cases.
    func index(streamID: Int32) -> Int? {
        (0..<self.slotCount).first { self.slots[$0].streamID == streamID }
    }

    // MARK: Events

    // MARK: Our own bodies

    /// Sends bytes that their owner keeps in place.
    mutating func send(_ bytes: UnsafeBufferPointer<UInt8>, on index: Int) {
        self.slots[index].send(bytes)
        self.unsentCount += bytes.count
    }

    /// Sends a copy of the bytes.
    mutating func send(copyOf bytes: [UInt8], on index: Int) {
        self.slots[index].send(copyOf: bytes)
        self.unsentCount += bytes.count
    }

    /// Copies the next bytes to send: see ``StreamSlot/takeBytes(_:atMost:)``.
    ///
    /// - Parameter window: the number of bytes that the peer lets all streams send together.
    mutating func takeBytes(
        of index: Int,
        _ target: UnsafeMutablePointer<UInt8>,
        atMost limit: Int,
        window: Int
    ) -> (count: Int, areLast: Bool) {
        let taken = self.slots[index].takeBytes(target, atMost: limit)
        self.unsentCount -= taken.count
        if !taken.areLast, taken.count >= window {
            self.cutSlot = Int32(truncatingIfNeeded: index)
        } else if taken.areLast, Int(self.cutSlot) == index {
            self.cutSlot = -1
        }
        return taken
    }

    private mutating func forgetBody(of index: Int) {
        self.unsentCount -= self.slots[index].sourceCount
        if Int(self.cutSlot) == index { self.cutSlot = -1 }
    }

    /// Notes a GOAWAY of either side.
    mutating func goAway() { self.isEnding = true }

    mutating func report(_ event: HTTP2Session.Event) {
        self.events.append(event)
    }

    /// Reports the end of a stream, at most once.
    mutating func close(_ index: Int, errorCode: UInt32) {
        guard self.slots[index].close() else { return }
        self.forgetBody(of: index)
        self.report(.closed(self.handle(index), errorCode: errorCode))
    }

    mutating func nextEvent() -> HTTP2Session.Event? {
        if self.closedSlot >= 0 {
            self.free(Int(self.closedSlot))
            self.closedSlot = -1
        }
        guard self.eventIndex < self.events.count else {
            self.eventIndex = 0
            self.events.removeAll(keepingCapacity: true)
            return nil
        }
        let event = self.events[self.eventIndex]
        self.eventIndex += 1
        if case .closed(let stream, _) = event { self.closedSlot = Int32(truncatingIfNeeded: stream.index) }
        return event
    }
}

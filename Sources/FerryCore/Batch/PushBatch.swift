/// Notifications on their way to a provider, in one piece of memory.
///
/// Fill a batch with ``append(_:to:tag:)`` and give it to ``PushProvider/submit(_:)``. The provider takes notifications
/// from the front; the others stay in the batch. A batch cannot be copied, so that no notification is submitted twice:
/// hand it on with `inout` or `consuming`. The bytes are fixed at `append`: later changes of the caller's values
/// have no effect.
///
/// Cost: `append` copies the bytes in amortised O(1), without an allocation for each notification. This also holds when
/// providers take parts of the batch between two calls.
public struct PushBatch: ~Copyable, Sendable {
    package private(set) var storage: BatchStorage
    package private(set) var start = 0
    /// Whether a provider has taken a part of the storage.
    private var isShared = false

    /// - Parameter capacity: the number of notifications to make room for at first. The batch grows on demand.
    public init(capacity: Int = 256) {
        let capacity = min(max(capacity, 1), Self.largestFirstCapacity)
        self.storage = BatchStorage(capacity: capacity, arenaCapacity: capacity * Self.typicalLength)
    }

    /// The number of bytes of a notification with a token of 32 bytes and a short alert.
    private static let typicalLength = 160
    /// The largest capacity to start with. A larger batch grows as it is filled.
    private static let largestFirstCapacity = 1 << 20

    /// The number of notifications in the batch.
    public var count: Int { self.storage.count - self.start }

    /// Whether no notification is left in the batch.
    public var isEmpty: Bool { self.count == 0 }

    /// Appends a notification to a device.
    ///
    /// - Parameters:
    ///   - notification: the notification to send. Its bytes are copied.
    ///   - device: the device to send it to.
    ///   - tag: the number that comes back with the outcome.
    /// - Throws: ``PushValidationError`` with ``PushValidationError/Code/batchFull`` if the batch would hold more than 4 GiB.
    ///   The batch is then unchanged.
    public mutating func append(
        _ notification: PushNotification,
        to device: DeviceToken,
        tag: PushTag
    ) throws(PushValidationError) {
        try self.append(notification, to: .device(device), tag: tag.rawValue, fields: BatchEntry.Fields())
    }

    package mutating func append(
        _ notification: PushNotification,
        to destination: PushDestination,
        tag: UInt64,
        fields: BatchEntry.Fields
    ) throws(PushValidationError) {
        let added = notification.withBytes { payload, topic, collapseID in
            destination.bytes.withUnsafeBufferPointer { token in
                self.append(
                    token: token,
                    payload: payload,
                    topic: topic,
                    collapseID: collapseID,
                    apnsID: notification.apnsID,
                    pushType: notification.pushType,
                    priority: notification.priority,
                    expiration: notification.expiration,
                    tag: tag,
                    fields: fields.union(destination.fields)
                )
            }
        }
        guard added else { throw PushValidationError([.init(.batchFull, "a batch holds at most 4 GiB")]) }
    }

    /// Appends bytes that were validated elsewhere; false if the batch is full.
    package mutating func append(
        token: UnsafeBufferPointer<UInt8>,
        payload: UnsafeBufferPointer<UInt8>,
        topic: UnsafeBufferPointer<UInt8>,
        collapseID: UnsafeBufferPointer<UInt8>,
        apnsID: APNSID?,
        pushType: PushType?,
        priority: Priority?,
        expiration: Expiration?,
        tag: UInt64,
        fields: BatchEntry.Fields = BatchEntry.Fields()
    ) -> Bool {
        assert(token.count <= UInt8.max && payload.count <= UInt16.max)
        assert(topic.count <= UInt8.max && collapseID.count <= UInt8.max)
        let bytes = token.count + payload.count + topic.count + collapseID.count + (apnsID == nil ? 0 : 16)
        guard self.reserve(bytes: bytes) else { return false }
        var fields = fields
        fields.hasExpiration = expiration != nil
        fields.hasAPNSID = apnsID != nil
        let entry = BatchEntry(
            tag: tag,
            offset: 0,
            expiration: expiration?.epochSeconds ?? 0,
            tokenHash: DeviceToken.stableHash(token),
            payloadLength: UInt16(truncatingIfNeeded: payload.count),
            tokenLength: UInt8(truncatingIfNeeded: token.count),
            topicLength: UInt8(truncatingIfNeeded: topic.count),
            collapseIDLength: UInt8(truncatingIfNeeded: collapseID.count),
            priority: priority?.rawValue ?? 0,
            pushType: pushType?.code ?? 0,
            fields: fields,
            marks: BatchEntry.Marks(),
            retries: 0
        )
        self.storage.append(entry, bytes: bytes) { target in
            var target = target
            Self.copy(token, to: &target)
            Self.copy(payload, to: &target)
            Self.copy(topic, to: &target)
            Self.copy(collapseID, to: &target)
            apnsID?.write(to: target)
        }
        return true
    }

    /// Removes the first notification and returns it; nil if the batch is empty. For a ``PushProvider`` outside Ferry.
    ///
    /// Cost: it copies the notification.
    public mutating func popFirst() -> Submission? {
        guard !self.isEmpty else { return nil }
        let run = self.takeFirst(1)
        return Submission(run.notification(at: 0), to: run.device(at: 0), tag: PushTag(run.entries[0].tag))
    }

    /// Removes every notification.
    public mutating func removeAll() {
        self.replaceStorage(with: BatchStorage(capacity: 16, arenaCapacity: 1024))
    }

    /// The first `count` notifications, or all if there are fewer. They stay the batch's: the run is for copying only.
    package func first(_ count: Int) -> BatchRun {
        BatchRun(storage: self.storage, start: self.start, count: min(max(count, 0), self.count))
    }

    /// Removes the first `count` notifications, which were copied.
    package mutating func removeFirst(_ count: Int) { _ = self.takeFirst(count) }

    /// Takes the first `count` notifications, or all if there are fewer.
    package mutating func takeFirst(_ count: Int) -> BatchRun {
        let count = min(max(count, 0), self.count)
        // The run keeps all memory until its last outcome. A caller with one notification in each batch would fill a queue
        // with 50 KB for each.
        if count > 0, count == self.storage.count, self.storage.isMostlyRoom {
            self.replaceStorage(with: self.storage.tightCopy())
        }
        let run = BatchRun(storage: self.storage, start: self.start, count: count)
        self.start += run.count
        self.isShared = true
        if self.isEmpty {
            self.storage.seal()
            self.replaceStorage(
                with: BatchStorage(capacity: self.storage.count, arenaCapacity: self.storage.arenaCount)
            )
        }
        return run
    }

    @inline(__always)
    private static func copy(_ source: UnsafeBufferPointer<UInt8>, to target: inout UnsafeMutablePointer<UInt8>) {
        guard let base = source.baseAddress else { return }
        target.update(from: base, count: source.count)
        target += source.count
    }

    /// Makes room for one more notification with `bytes` bytes.
    ///
    /// Memory that a provider reads must not move. So when the room runs out, the rest of the batch moves to a new
    /// storage of twice the size. Without the double size, every `append` would move it again.
    private mutating func reserve(bytes: Int) -> Bool {
        if self.isShared && !self.storage.hasRoom(bytes: bytes) {
            self.replaceStorage(with: self.storage.copy(self.start..<self.storage.count))
        }
        return self.storage.reserve(bytes: bytes)
    }

    private mutating func replaceStorage(with storage: BatchStorage) {
        self.storage = storage
        self.start = 0
        self.isShared = false
    }
}

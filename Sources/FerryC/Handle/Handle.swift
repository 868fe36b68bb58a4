internal import CFerry
internal import Ferry
internal import FerryCore

/// The object behind a `ferry_t` of `ferry_open`. It has a provider or an ``Echo`` of its own, or shares a provider
/// with other handles. Any thread may use a handle.
final class Handle: Sendable {
    /// The provider that the handle uses, and whether other handles use it too.
    enum Way: Sendable {
        case own(Backend, closing: Latch)
        /// The lock of `isClosed` is held during a submission, because a close must know every notification that was
        /// taken.
        case shared(SharedProvider, isClosed: Monitor<Bool>)
    }

    /// The options that do not concern the backend.
    struct Settings: Sendable {
        /// Whether ``flush(milliseconds:)`` waits for outcomes, and not only for writes.
        var waits = false
        /// The longest time that the end of the process waits for the notifications of the handle. A freed handle
        /// sends for the same time at most.
        var exitLimit: Duration = .zero
    }

    let mailbox: Mailbox
    let settings: Settings
    private let way: Way
    private let events: EventQueue?
    /// The migrating provider; nil for other backends.
    let migration: MigratingProvider?
    let config: ConfigWatch?
    let goneDevices: FeedbackWriter?

    init(
        _ way: Way,
        mailbox: Mailbox,
        settings: Settings,
        events: EventQueue? = nil,
        migration: MigratingProvider? = nil,
        config: ConfigWatch? = nil,
        goneDevices: FeedbackWriter? = nil
    ) {
        self.way = way
        self.mailbox = mailbox
        self.settings = settings
        self.events = events
        self.migration = migration
        self.config = config
        self.goneDevices = goneDevices
    }

    var backend: Backend {
        switch self.way {
        case .own(let backend, _): backend
        case .shared(let provider, _): provider.backend
        }
    }

    /// The number of notifications that may be taken now. Another thread may use the room first.
    private var room: Int { min(self.backend.room, self.goneDevices?.room ?? .max) }

    var isOfSharedProvider: Bool { self.router != nil }

    private var router: TagRouter? { if case .shared(let provider, _) = self.way { provider.router } else { nil } }

    // MARK: Notifications

    /// Takes as many of the first records as there is room for. Returns their number and their length in bytes; nil if
    /// the framing is wrong. Without room, the framing is not checked, and both numbers are 0.
    func submit(_ bytes: UnsafeBufferPointer<UInt8>) -> (count: Int, used: Int)? {
        // This check of the room comes before the check of the framing, because counting costs time. A caller that is
        // faster than the network often brings many records when there is no room.
        guard bytes.isEmpty || self.room > 0 else {
            self.awaitRoom()
            return (0, 0)
        }
        guard let count = RecordReader.count(bytes) else { return nil }
        return self.submit(count) { index, reader in
            reader.next().map { Item(record: $0, token: $0.token, tag: $0.tag) }
        } over: {
            RecordReader(bytes)
        }
    }

    /// Takes one record for many devices. Returns the number of devices that were taken; nil if `record` is not
    /// exactly one record, or if its token does not have `tokenLength` bytes.
    func submit(
        _ record: UnsafeBufferPointer<UInt8>,
        to tokens: UnsafeBufferPointer<UInt8>,
        tokenLength: Int,
        firstTag: UInt64
    ) -> Int? {
        var reader = RecordReader(record)
        guard let first = reader.next(), reader.position == record.count, first.token.count == tokenLength else {
            return nil
        }
        return self.submit(tokenLength == 0 ? 0 : tokens.count / tokenLength) { index, _ in
            Item(
                record: first,
                token: UnsafeBufferPointer(rebasing: tokens[index * tokenLength..<(index + 1) * tokenLength]),
                tag: firstTag &+ UInt64(index)
            )
        } over: {
            reader
        }.count
    }

    /// One notification of a call, before it is appended to a batch.
    private struct Item {
        var record: RecordReader.Record
        var token: UnsafeBufferPointer<UInt8>
        var tag: UInt64
    }

    /// Takes as many of the first `count` items as there is room for.
    ///
    /// - Parameters:
    ///   - item: returns the item at an index. It is called for 0, 1 and so on.
    ///   - makeReader: makes the reader that `item` gets with index 0.
    private func submit(
        _ count: Int,
        _ item: (Int, inout RecordReader) -> Item?,
        over makeReader: () -> RecordReader
    ) -> (count: Int, used: Int) {
        let most = self.mailbox.begin(min(count, self.room))
        guard count == 0 || most > 0 else {
            self.awaitRoom()
            return (0, 0)
        }
        var reader = makeReader()
        var batch = PushBatch(capacity: max(most, 1))
        var refused: [(index: Int, tag: UInt64, reason: Reason)] = []
        var made = 0
        // Many devices often get the same payload, and a comparison costs less than a scan.
        var goodPayload = UnsafeBufferPointer<UInt8>(start: nil, count: 0)
        while made < most, let next = item(made, &reader) {
            if let reason = next.record.fault(goodPayload: goodPayload) {
                refused.append((made, next.tag, reason))
            } else {
                goodPayload = next.record.payload
                let tag = self.router?.enter(next.tag, of: self.mailbox) ?? next.tag
                guard next.record.append(to: &batch, token: next.token, tag: tag) else {
                    self.router?.leave(tag)
                    break
                }
            }
            made += 1
        }
        if !batch.isEmpty { self.backend.take(&batch) }
        // The backend did not take the notifications that are left in the batch. So the first of these notifications,
        // and every item after that one, count as not taken.
        var taken = made
        var left = batch.count
        self.leaveRouter(&batch)
        while left > 0 {
            taken -= 1
            if refused.last?.index == taken { refused.removeLast() } else { left -= 1 }
        }
        self.reject(refused)
        self.mailbox.end(most, taken: taken)
        if taken < count { self.awaitRoom() }
        return (taken, taken == made ? reader.position : self.length(of: taken, item, over: makeReader))
    }

    /// Frees the router's places for notifications that the shared provider did not take.
    private func leaveRouter(_ batch: inout PushBatch) {
        guard let router, !batch.isEmpty else { return }
        let run = batch.takeFirst(batch.count)
        for index in 0..<run.count { router.leave(run.entries[index].tag) }
        run.storage.releaseBytes(of: run.count)
    }

    /// Returns the length of the first `count` items, in bytes.
    private func length(
        of count: Int,
        _ item: (Int, inout RecordReader) -> Item?,
        over makeReader: () -> RecordReader
    ) -> Int {
        var reader = makeReader()
        for index in 0..<count { _ = item(index, &reader) }
        return reader.position
    }

    private func reject(_ refused: [(index: Int, tag: UInt64, reason: Reason)]) {
        guard !refused.isEmpty else { return }
        let records = refused.map { refusal in
            OutcomeRecord(
                tag: PushTag(refusal.tag),
                outcome: .rejected(Rejection(reason: refusal.reason, origin: .ferry))
            )
        }
        self.mailbox.settled(records.span)
    }

    private func awaitRoom() {
        guard self.mailbox.wantRoom() else { return }
        guard let goneDevices else { return self.awaitRoomOfBackend() }
        // The reference is weak, because a disk may hang for ever. A strong reference would keep the handle and its
        // provider alive as long.
        goneDevices.whenRoom { [weak self] in self?.awaitRoomOfBackend() }
    }

    private func awaitRoomOfBackend() {
        let mailbox = self.mailbox
        self.backend.whenRoom { mailbox.roomCame() }
    }

    /// Calls `body`, which submits notifications. Returns nil without a call if the handle is closed.
    func whileOpen<Result>(_ body: () -> Result) -> Result? {
        switch self.way {
        case .own(let backend, _): backend.isClosed ? nil : body()
        case .shared(let provider, let isClosed):
            isClosed.withLock { $0 || provider.backend.isClosed ? nil : body() }
        }
    }

    /// Waits until each notification that was taken so far was written or has its outcome. With the option `wait`,
    /// this function waits for the outcomes of all notifications of the handle.
    ///
    /// - Returns: 0 when the wait succeeded, 1 when the time is over, or an error. With the option `wait`, the result
    ///   is 0 if the handle is freed meanwhile.
    func flush(milliseconds: Int64) -> Int32 {
        if self.mailbox.isSettled { return 0 }
        if self.settings.waits {
            return self.mailbox.waitUntilSettled(milliseconds: milliseconds, endsAtSignal: true)
        }
        guard let latch = Latch() else { return FERRY_ESYSTEM }
        guard let id = ForkGate.pass({ self.backend.whenWritten { latch.open() } }) else { return 0 }
        defer { ForkGate.pass { self.backend.stopWaiting(id) } }
        return self.mailbox.flush(latch, milliseconds: milliseconds)
    }

    /// The figures that only a provider has; nil for an ``Echo``.
    var providerReport: DrainReport? {
        if case .provider(let provider) = self.backend { provider.body.report } else { nil }
    }

    /// The current error of the connections, the credentials or the peer; nil if there is no error.
    var lastError: ProviderError? {
        if case .provider(let provider) = self.backend { provider.lastError } else { nil }
    }

    // MARK: Events

    /// Copies the next event to `target` if it fits. Returns the length of the event, or 0 if there is no event. An
    /// event that does not fit stays unread.
    func readEvent(into target: UnsafeMutableRawBufferPointer) -> Int {
        guard let events else { return 0 }
        // `FERRY_READY_EVENT` is cleared before the event is read, so that a later event raises this bit again.
        self.mailbox.eventCame(false)
        let (length, isMore) = events.read(into: target)
        if isMore { self.mailbox.eventCame() }
        return length
    }

    // MARK: The end

    /// Takes no more notifications, and waits until all have their outcomes, for at most `limit`. After that time, the
    /// rest becomes `undelivered` or `uncertain`. If the provider is the handle's own, the feedback file may add
    /// ``FeedbackWriter/patience`` milliseconds.
    func close(within limit: Duration) {
        switch self.way {
        case .own(let backend, let closing):
            ForkGate.pass { backend.shutDown(within: limit) { closing.open() } }
            closing.wait()
            self.goneDevices?.flush()
        case .shared(let provider, let isClosed):
            isClosed.withLock { $0 = true }
            _ = self.mailbox.drain(milliseconds: limit.milliseconds)
            ForkGate.pass {
                self.tellWaiting(of: provider)
                // The provider may still send the handle's unsettled notifications, but this handle gets no more
                // outcomes.
                let records = provider.router.forget(self.mailbox).map {
                    OutcomeRecord(tag: PushTag($0), outcome: .uncertain(.released))
                }
                self.mailbox.settled(records.span)
            }
        }
        ForkGate.pass { self.mailbox.closed() }
    }

    /// Reports the outcomes of this handle that wait for the feedback file. Otherwise the caller would get `uncertain`
    /// for them, and might submit the notifications again. The outcomes of other handles keep waiting.
    private func tellWaiting(of provider: SharedProvider) {
        guard let goneDevices, !self.mailbox.isSettled else { return }
        let places = provider.router.places(of: self.mailbox)
        goneDevices.tell { places.contains($0.rawValue) }
    }

    /// Ends the handle without a wait.
    ///
    /// - Returns: the shutdown that the caller must begin; nil if the provider is shared or closed, if all
    ///   notifications have their outcomes, or without the option `atExit`.
    func freed() -> Ending? {
        self.mailbox.freed()
        switch self.way {
        case .own(let backend, _):
            guard self.settings.exitLimit > .zero, !backend.isClosed, !self.mailbox.isSettled else { return nil }
            return Ending(backend, within: self.settings.exitLimit)
        case .shared(let provider, _):
            _ = provider.router.forget(self.mailbox)
            return nil
        }
    }
}

internal import CFerry
internal import Ferry
internal import FerryCore

/// One opened provider: what `ferry_t` stands for. Any thread.
final class Handle: Sendable {
    let mailbox: Mailbox
    private let backend: Backend
    private let events: EventQueue?
    /// Opens when the backend has shut down.
    private let closing: Latch
    /// The migration, if the backend is one.
    let migration: MigratingProvider?

    init(
        _ backend: Backend,
        mailbox: Mailbox,
        closing: Latch,
        events: EventQueue? = nil,
        migration: MigratingProvider? = nil
    ) {
        self.backend = backend
        self.mailbox = mailbox
        self.closing = closing
        self.events = events
        self.migration = migration
    }

    // MARK: Notifications

    /// Takes records from the front. Returns how many, and their length in bytes; nil when the framing is wrong.
    func submit(_ bytes: UnsafeBufferPointer<UInt8>) -> (count: Int, used: Int)? {
        // A caller that is faster than the network comes here most of the time, and often with many records.
        guard bytes.isEmpty || self.backend.room > 0 else {
            self.awaitRoom()
            return (0, 0)
        }
        guard let count = RecordReader.count(bytes) else { return nil }
        return self.submit(count) { index, reader in
            reader.next().map { Item(record: $0, token: $0.token, tag: $0.tag, wasPayloadChecked: false) }
        } over: {
            RecordReader(bytes)
        }
    }

    /// Takes one record for many devices. Returns how many of them; nil when the framing is wrong.
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
        let isPayloadGood = first.fault() == nil
        return self.submit(tokenLength == 0 ? 0 : tokens.count / tokenLength) { index, _ in
            Item(
                record: first,
                token: UnsafeBufferPointer(rebasing: tokens[index * tokenLength..<(index + 1) * tokenLength]),
                tag: firstTag &+ UInt64(index),
                wasPayloadChecked: isPayloadGood
            )
        } over: {
            reader
        }.count
    }

    /// One notification of a call.
    private struct Item {
        var record: RecordReader.Record
        var token: UnsafeBufferPointer<UInt8>
        var tag: UInt64
        var wasPayloadChecked: Bool
    }

    /// Takes the first of `count` items that there is room for.
    ///
    /// - Parameters:
    ///   - item: returns the item at an index; called for 0, 1 and so on.
    ///   - makeReader: a reader before the first item.
    private func submit(
        _ count: Int,
        _ item: (Int, inout RecordReader) -> Item?,
        over makeReader: () -> RecordReader
    ) -> (count: Int, used: Int) {
        let most = min(count, self.backend.room)
        guard count == 0 || self.mailbox.begin(most) else {
            self.awaitRoom()
            return (0, 0)
        }
        var reader = makeReader()
        var batch = PushBatch(capacity: max(most, 1))
        var refused: [(index: Int, tag: UInt64, reason: Reason)] = []
        var made = 0
        while made < most, let next = item(made, &reader) {
            if let reason = next.record.fault(wasPayloadChecked: next.wasPayloadChecked) {
                refused.append((made, next.tag, reason))
            } else if !next.record.append(to: &batch, token: next.token, tag: next.tag) {
                break
            }
            made += 1
        }
        if !batch.isEmpty { self.backend.take(&batch) }
        // What is left in the batch was not taken, nor what came after it.
        var taken = made
        var left = batch.count
        while left > 0 {
            taken -= 1
            if refused.last?.index == taken { refused.removeLast() } else { left -= 1 }
        }
        self.reject(refused)
        self.mailbox.end(most, taken: taken)
        if taken < count { self.awaitRoom() }
        return (taken, taken == made ? reader.position : self.length(of: taken, item, over: makeReader))
    }

    /// Returns the length of the first `count` items in bytes.
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
        let mailbox = self.mailbox
        self.backend.whenRoom { mailbox.roomCame() }
    }

    var isClosed: Bool { self.backend.isClosed }

    /// The numbers that only the provider has. Nil for ``Echo``, which has none.
    var providerReport: DrainReport? {
        if case .provider(let provider) = self.backend { provider.body.report } else { nil }
    }

    /// The trouble with connections, credentials or peer that stands now.
    var lastError: ProviderError? {
        if case .provider(let provider) = self.backend { provider.lastError } else { nil }
    }

    // MARK: Events

    /// Copies the next event to `target`, if it fits. Returns its length; 0 if there is none.
    func readEvent(into target: UnsafeMutableRawBufferPointer) -> Int {
        guard let events else { return 0 }
        // Before the look: what comes after it raises the bit again.
        self.mailbox.eventCame(false)
        let (length, isMore) = events.read(into: target)
        if isMore { self.mailbox.eventCame() }
        return length
    }

    // MARK: The end

    /// Shuts down within `limit`, and waits for it.
    func close(within limit: Duration) {
        let closing = self.closing
        ForkGate.pass { self.backend.shutDown(within: limit) { closing.open() } }
        closing.wait()
        ForkGate.pass { self.mailbox.closed() }
    }
}

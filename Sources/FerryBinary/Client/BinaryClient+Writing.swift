package import FerryCore
package import FerryMachine
package import NIOCore

/// From the queue onto a connection.
extension BinaryClient {
    /// Writes queued notifications, or a probe, to the end of `buffer`, until that has `limit` bytes.
    ///
    /// The owner gives TLS what was written and then says ``flushed(_:at:now:)``.
    ///
    /// - Returns: false when there is nothing that may be written now.
    package mutating func write(
        _ id: ConnectionID,
        into buffer: inout ByteBuffer,
        atMost limit: Int,
        now: Moment
    ) -> Bool {
        guard let index = self.lane(of: id), self.lanes[index].connection != nil else { return false }
        if self.lanes[index].queue.isEmpty { self.spill(to: index) }
        let start = buffer.writerIndex
        while buffer.readableBytes < limit {
            let room = self.room(index)
            guard var run = self.lanes[index].queue.popFirst(atMost: room) else { break }
            self.encode(&run, on: index, into: &buffer, atMost: limit, now: now)
            if run.count > 0 {
                self.lanes[index].queue.prepend(run)
                break
            }
        }
        if buffer.writerIndex == start, self.wantsProbe(index, now: now) {
            self.writeProbe(index, into: &buffer, now: now)
        }
        self.checkCompleted(now: now)
        guard buffer.writerIndex > start else { return false }
        self.lanes[index].connection?.activeAt = now.monotonic
        self.makeRoom(index)
        return true
    }

    /// Notes that TLS has taken what was written, up to `offset` of the stream below it.
    package mutating func flushed(_ id: ConnectionID, at offset: UInt64, now: Moment) {
        guard let index = self.lane(of: id), let next = self.lanes[index].connection?.cache.next else { return }
        self.lanes[index].connection?.silence.flushed(next, at: offset, now: now.monotonic)
    }

    /// Notes whether the channel takes bytes. A lane whose channel does not may give work away.
    package mutating func writability(_ id: ConnectionID, isWritable: Bool) {
        guard let index = self.lane(of: id) else { return }
        self.lanes[index].connection?.isWritable = isWritable
    }

    // MARK: How much

    /// How many more notifications the lane may have unsettled.
    func room(_ index: Int) -> Int {
        guard !self.isPaused, self.lanes[index].connection?.takesNotifications == true else { return 0 }
        var room = self.cacheRoom
        if let size = self.lanes[index].window.size {
            room = min(room, size - (self.lanes[index].connection?.cache.unsettledCount ?? 0))
        }
        if let allowance = self.lanes[index].isolation?.allowance { room = min(room, allowance) }
        return max(room, 0)
    }

    /// How many notifications may be unsettled, on all connections together.
    var unsettledLimit: Int {
        switch self.options.cachePolicy {
        case .evict: Self.accountLimit
        case .hold: self.effectiveCacheLength
        }
    }

    /// How many more notifications may be unsettled, by the bounds of the cache.
    private var cacheRoom: Int {
        if self.options.cachePolicy == .hold, self.cached.unsettledBytes >= max(self.options.cacheLimit.bytes, 1) {
            return 0
        }
        return self.unsettledLimit - self.unsettledCount
    }

    /// What all caches hold together.
    var cached: NotificationCache.Content {
        var sum = NotificationCache.Content()
        // By index: a copy of a lane would count references.
        for index in self.lanes.indices {
            if let content = self.lanes[index].connection?.cache.content { sum.add(content) }
        }
        return sum
    }

    /// How many notifications all caches may hold now.
    var effectiveCacheLength: Int {
        switch self.options.cachePolicy {
        case .hold where self.options.autoAdjustCache: max(self.options.cacheLimit.entries, 1)
        case .hold, .evict: self.cacheLength
        }
    }

    /// Takes the bytes of the oldest notifications, as the cache's bounds want.
    private mutating func makeRoom(_ index: Int) {
        switch self.options.cachePolicy {
        case .evict:
            self.lanes[index].connection?.cache.evict(keeping: self.cacheLength)
        case .hold:
            let cached = self.cached
            var count = cached.unsettled + cached.retained - self.effectiveCacheLength
            var bytes = cached.unsettledBytes + cached.retainedBytes - max(self.options.cacheLimit.bytes, 1)
            while count > 0 || bytes > 0, let oldest = self.oldestHistory(),
                let freed = self.lanes[oldest].connection?.cache.evictOldestHistory()
            {
                count -= freed.count
                bytes -= freed.bytes
            }
        }
    }

    /// The lane with the notification that was settled first of all that have their bytes.
    private func oldestHistory() -> Int? {
        var oldest: (lane: Int, settledAt: NIODeadline)?
        for index in self.lanes.indices {
            guard let settledAt = self.lanes[index].connection?.cache.oldestHistory?.settledAt else { continue }
            if oldest.map({ settledAt < $0.settledAt }) ?? true { oldest = (index, settledAt) }
        }
        return oldest?.lane
    }

    // MARK: Notifications

    /// Writes the notifications of `run` and takes them off it, until the buffer is full.
    private mutating func encode(
        _ run: inout BatchRun,
        on index: Int,
        into buffer: inout ByteBuffer,
        atMost limit: Int,
        now: Moment
    ) {
        let command = self.options.command
        while run.count > 0 {
            let first = self.lanes[index].connection?.cache.next ?? 0
            var written = 0
            var isFull = false
            let refusal = Refusal(payloadLimit: self.options.payloadLimit, epochSeconds: now.epochSeconds)
            let entries = run.entries
            let arena = UnsafePointer(run.storage.arena)
            let room = limit - buffer.readableBytes
            // There is room for one at least, however long it is.
            let longest = max(room, NotificationEncoder.length(of: entries[0], command: command))
            buffer.writeWithUnsafeMutableBytes(minimumWritableBytes: longest) { target in
                var offset = 0
                while written < run.count {
                    let entry = entries[written]
                    let length = NotificationEncoder.length(of: entry, command: command)
                    if refusal.applies(to: entry) { break }
                    guard offset + length <= target.count, offset < room, let base = target.baseAddress else {
                        isFull = true
                        break
                    }
                    offset += NotificationEncoder.write(
                        entry,
                        arena: arena,
                        identifier: Identifier.of(first + UInt64(written)),
                        command: command,
                        to: base + offset
                    )
                    written += 1
                }
                return offset
            }
            self.record(run.takeFirst(written), on: index, now: now)
            if isFull { return }
            if run.count > 0 {
                let refused = run.takeFirst(1)
                self.outcomes.give(refusal.outcome(of: refused.entries[0]), to: refused)
                self.narrowSearch(index, settled: 1, now: now)
            }
        }
    }

    private mutating func record(_ run: BatchRun, on index: Int, now: Moment) {
        guard run.count > 0 else { return }
        self.lanes[index].connection?.cache.append(run, at: now.monotonic)
        self.lanes[index].isolation?.wrote(run.count)
        if run.isCopy { self.outcomes.resent += run.count }
        if self.reportsTransmitted, let id = self.lanes[index].connectionID {
            self.report(.transmitted(id, tags: run.tags))
        }
    }

    /// What this wire does not take, or what came too late for any.
    private struct Refusal {
        var payloadLimit: Int
        var epochSeconds: UInt32

        @inline(__always)
        func applies(to entry: BatchEntry) -> Bool {
            Int(entry.payloadLength) > self.payloadLimit || (entry.expiration != 0 && self.isExpired(entry))
        }

        func isExpired(_ entry: BatchEntry) -> Bool {
            // What may have arrived already can no longer end as expired, and a repair has its outcome.
            entry.expiration <= self.epochSeconds && !entry.marks.isTainted && !entry.marks.isSettled
        }

        func outcome(of entry: BatchEntry) -> Outcome {
            guard Int(entry.payloadLength) > self.payloadLimit else { return .expired }
            return .rejected(
                Rejection(
                    reason: .payloadTooLarge,
                    origin: .ferry,
                    status: Int(BinaryStatus.invalidPayloadSize.rawValue)
                )
            )
        }
    }

    // MARK: Probes

    /// Whether proof can be had now: command 0 has no identifiers, and not every peer answers.
    var canProbe: Bool { self.probesAgainAt == nil && self.options.command != .simple }

    /// Whether the lane should prove what it has written, since nothing else can be done on it.
    func wantsProbe(_ index: Int, now: Moment) -> Bool {
        let lane = self.lanes[index]
        guard self.canProbe, let connection = lane.connection, connection.probe == nil, !connection.isFinishing else {
            return false
        }
        if self.isProving, connection.cache.unsettledCount + connection.presumedCount > 0 {
            // A probe that overtakes an error response on its way would confirm what was discarded.
            let isSearching = lane.isolation != nil && connection.cache.unsettledCount > 0
            return !isSearching && self.isSilent(connection, now: now)
        }
        guard connection.cache.unsettledCount > 0 else { return false }
        if lane.queue.isEmpty {
            return self.options.finality == .proof && now.monotonic >= connection.activeAt + self.delay.settleTime
        }
        guard !self.isPaused else { return false }
        return switch self.options.finality {
        case .proof: self.room(index) == 0
        case .silence: self.options.probeWhenHeld && self.options.cachePolicy == .hold && self.cacheRoom <= 0
        }
    }

    /// Whether the peer has been silent for a settle time about everything that was written.
    private func isSilent(_ connection: Connection, now: Moment) -> Bool {
        let settleTime = self.delay.settleTime
        guard connection.cache.unsettledCount > 0 else { return true }
        guard connection.silence.showsAcknowledgements else { return now.monotonic >= connection.activeAt + settleTime }
        return connection.silence.quietFor.map { $0 >= settleTime } ?? false
    }

    private mutating func writeProbe(_ index: Int, into buffer: inout ByteBuffer, now: Moment) {
        guard let sequence = self.lanes[index].connection?.cache.skip() else { return }
        let purpose: Probe.Purpose = self.isProving ? .end : .room
        self.lanes[index].connection?.probe = Probe(sequence: sequence, writtenAt: now.monotonic, purpose: purpose)
        buffer.writeWithUnsafeMutableBytes(minimumWritableBytes: NotificationEncoder.probeLength) { target in
            guard let base = target.baseAddress else { return 0 }
            return NotificationEncoder.writeProbe(identifier: Identifier.of(sequence), to: base)
        }
    }

    // MARK: Other lanes' work

    /// How many notifications change their lane at a time.
    static let spillSize = 256

    /// Takes work from a lane that can do nothing with it now.
    private mutating func spill(to index: Int) {
        guard self.lanes.count > 1, self.lanes[index].isolation == nil, self.room(index) > 0 else { return }
        for donor in self.lanes.indices where donor != index && self.isBlocked(donor) {
            guard let run = self.lanes[donor].queue.popFirst(atMost: Self.spillSize) else { continue }
            self.lanes[index].queue.append(run)
            return
        }
    }

    private func isBlocked(_ index: Int) -> Bool {
        let lane = self.lanes[index]
        guard !lane.queue.isEmpty, lane.isolation == nil else { return false }
        guard let connection = lane.connection else {
            // After a failure, or for want of permission to dial.
            if case .waiting = lane.dial { return true }
            return lane.backOff.failures > 0
        }
        return !connection.isWritable || connection.probe != nil
            || lane.window.size.map { $0 <= connection.cache.unsettledCount } ?? false
    }
}

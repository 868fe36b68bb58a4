package import FerryCore
package import FerryMachine
package import NIOCore

/// The way of notifications from the queue onto a connection.
extension BinaryClient {
    /// Writes queued notifications, or a probe, to the end of `buffer`, until `buffer` has `limit` bytes.
    ///
    /// The owner passes the bytes to TLS and then calls ``flushed(_:at:now:)``.
    ///
    /// - Returns: false when nothing may be written now.
    package mutating func write(
        _ id: ConnectionID,
        into buffer: inout ByteBuffer,
        atMost limit: Int,
        now: Moment
    ) -> Bool {
        guard let lane = self.lane(of: id), lane.connection.establishedID != nil else { return false }
        if lane.queue.isEmpty { self.spill(to: lane) }
        let start = buffer.writerIndex
        while buffer.readableBytes < limit {
            guard var run = lane.takeQueued(atMost: self.room(lane)) else { break }
            self.encode(&run, on: lane, into: &buffer, atMost: limit, now: now)
            if run.count > 0 {
                lane.prepend(run)
                break
            }
        }
        if buffer.writerIndex == start, self.wantsProbe(lane, now: now) {
            self.writeProbe(lane, into: &buffer, now: now)
        }
        self.checkCompleted(now: now)
        guard buffer.writerIndex > start else { return false }
        lane.connection.carried(now: now.monotonic)
        self.makeRoom(on: lane)
        return true
    }

    /// Notes that TLS has taken the written bytes, up to `offset` of the stream below it.
    package mutating func flushed(_ id: ConnectionID, at offset: UInt64, now: Moment) {
        guard let lane = self.lane(of: id), lane.connection.establishedID != nil else { return }
        lane.connection.flushed(at: offset, now: now.monotonic)
    }

    /// Notes whether the channel takes bytes. A lane with a full channel may give work away.
    package mutating func writability(_ id: ConnectionID, isWritable: Bool) {
        guard let lane = self.lane(of: id) else { return }
        lane.connection.writability(isWritable)
    }

    /// Writes notifications of `run` and removes them from it, until the buffer is full.
    private mutating func encode(
        _ run: inout BatchRun,
        on lane: Lane,
        into buffer: inout ByteBuffer,
        atMost limit: Int,
        now: Moment
    ) {
        let command = self.options.command
        while run.count > 0 {
            let first = lane.connection.cache.next
            var written = 0
            var isFull = false
            let refusal = Refusal(payloadLimit: self.options.payloadLimit, epochSeconds: now.epochSeconds)
            let entries = run.entries
            let arena = UnsafePointer(run.storage.arena)
            let room = limit - buffer.readableBytes
            // There is room for at least one notification of any length.
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
            self.record(run.takeFirst(written), on: lane, now: now)
            if isFull { return }
            if run.count > 0 {
                let refused = run.takeFirst(1)
                let entry = refused.entries[0]
                let isTooLong = Int(entry.payloadLength) > self.options.payloadLimit
                self.outcomes.give(isTooLong ? .rejected(self.payloadRejection(of: entry)) : .expired, to: refused)
                self.narrowSearch(lane, settled: 1, now: now)
            }
        }
    }

    private mutating func record(_ run: BatchRun, on lane: Lane, now: Moment) {
        guard run.count > 0 else { return }
        lane.wrote(run, now: now.monotonic)
        self.outcomes.wrote(run)
        if run.isCopy { self.outcomes.wrote(copies: run.count) }
        if self.reportsTransmitted, let id = lane.connection.id {
            self.report(.transmitted(id, tags: run.tags))
        }
    }

    /// The check for notifications that are not written: their payload is too long, or they have expired.
    private struct Refusal {
        var payloadLimit: Int
        var epochSeconds: UInt32

        @inline(__always)
        func applies(to entry: BatchEntry) -> Bool {
            Int(entry.payloadLength) > self.payloadLimit || (entry.expiration != 0 && self.isExpired(entry))
        }

        func isExpired(_ entry: BatchEntry) -> Bool {
            // A copy may have arrived already, so the notification can no longer end as expired. A repair already has
            // its outcome.
            entry.expiration <= self.epochSeconds && !entry.marks.isTainted && !entry.marks.isSettled
        }
    }
}

internal import DequeModule
package import FerryCore
package import FerryMachine
package import NIOCore

extension HTTP2Client {
    /// The number of requests that are made before their frames are written. It is small, so that the requests are
    /// still in the processor's cache then.
    private static let stride = 32

    /// Writes frames for a connection, new requests first, until about `limit` bytes.
    ///
    /// - Returns: whether anything was written. If so, call ``flushed(_:at:now:)`` next.
    package mutating func write(
        _ id: ConnectionID,
        into buffer: inout ByteBuffer,
        atMost limit: Int,
        now: Moment
    ) -> Bool {
        self.leaveReplacedKey(now: now)
        self.reportHold(now: now)
        guard self.connections.contains(id), !self.connections[id].isFinished else { return false }
        self.connections[id].beginWriting()
        let start = buffer.writerIndex
        var tags: [PushTag] = []
        while buffer.writerIndex - start < limit {
            let requests = self.request(on: id, atMost: Self.stride, tags: &tags, now: now)
            let left = limit - (buffer.writerIndex - start)
            guard self.connections[id].write(into: &buffer, atMost: left) || requests > 0 else { break }
        }
        // The session itself has refused the requests that it could not write.
        self.read(id, now: now)
        if !tags.isEmpty { self.report(.transmitted(id, tags: tags)) }
        // The connection may be full now. And the last queued notification may have been refused before it was sent.
        self.connectIfNeeded(now: now)
        self.checkCompleted(now: now)
        self.finishIfDone(id, now: now)
        if self.connections[id].write(into: &buffer, atMost: limit - (buffer.writerIndex - start)) {
            self.read(id, now: now)
        }
        self.finishIfOver(id, now: now)
        self.finishIfDone(id, now: now)
        return buffer.writerIndex > start
    }

    /// Ends a connection whose session is over, and reports it if the peer broke the protocol.
    private mutating func finishIfOver(_ id: ConnectionID, now: Moment) {
        if self.connections[id].isViolated { self.report(.error(.violation(peer: self.peer, nil))) }
        if self.connections[id].finishIfOver(now: now.monotonic) == .finish { self.act(.finish(id)) }
    }

    /// Notes that TLS has taken the written bytes, and where the stream below it ends now.
    package mutating func flushed(_ id: ConnectionID, at end: UInt64, now: Moment) {
        guard self.connections.contains(id) else { return }
        self.connections[id].flushed(at: end)
    }

    /// Makes up to `limit` requests, and returns their number.
    private mutating func request(
        on id: ConnectionID,
        atMost limit: Int,
        tags: inout [PushTag],
        now: Moment
    ) -> Int {
        guard self.mayWrite(to: id, now: now) else { return 0 }
        if self.unsettledCount == 0 { self.breaker.nothingUnderWay() }
        var made = 0
        var room = min(self.connections[id].room, limit)
        if let allowance = self.breaker.allowance(now: now.monotonic) { room = min(room, allowance) }
        let onTrial = self.outageAllowance(on: id)
        if let onTrial { room = min(room, onTrial) }
        // Notifications that failed may be the fault themselves. So others show whether a new connection works.
        let takesFreshOnly = (onTrial != nil || self.outage.hasFruitless) && !self.fresh.isEmpty
        while made < room, !takesFreshOnly, let first = self.again.first {
            guard self.connections[id].sendsWhole(first.run.entries[0]) else { return made }
            let attempt = self.again.removeFirst()
            guard self.isInTime(attempt.run, attempt, now: now) else { continue }
            guard self.make(attempt, on: id, now: now) else { return made }
            made += 1
            if attempt.wasWritten { self.outcomes.wrote(copies: 1) }
            self.note(attempt.run, in: &tags)
        }
        while made < room, let run = self.fresh.popFirst(atMost: room - made) {
            for index in 0..<run.count {
                let one = run.slice(index..<index + 1)
                guard self.connections[id].sendsWhole(one.entries[0]) else {
                    self.fresh.insert(run.slice(index..<run.count))
                    return made
                }
                guard self.isInTime(one, nil, now: now), !self.isFaulty(one) else { continue }
                let attempt = Attempt(run: one, apnsID: self.identifiers.apnsID(of: one), wasWritten: one.isCopy)
                guard self.isItsTurn(attempt, now: now) else { continue }
                guard self.make(attempt, on: id, now: now) else {
                    self.fresh.insert(run.slice(index + 1..<run.count))
                    return made
                }
                made += 1
                if attempt.wasWritten { self.outcomes.wrote(copies: 1) }
                self.note(one, in: &tags)
            }
        }
        return made
    }

    /// Collects the tags of written notifications, if the program wants them. The tag of an awaited notification is
    /// internal to the provider.
    private func note(_ run: BatchRun, in tags: inout [PushTag]) {
        guard self.reportsTransmitted, !run.entries[0].fields.isAwaited else { return }
        tags.append(PushTag(run.entries[0].tag))
    }

    /// Returns whether a device may get a notification now. If not, the notification waits or gets its outcome.
    private mutating func isItsTurn(_ attempt: Attempt, now: Moment) -> Bool {
        let hash = attempt.run.entries[0].tokenHash
        switch self.pacer.take(hash, before: attempt.submitted + self.deadline, now: now.monotonic) {
        case .later(let due) where !self.delayed.isFull:
            self.delayed.insert(attempt, due: due)
            return false
        case .tooLate:
            self.outcomes.give(.undelivered(.deadline), tainted: .uncertain(.notRepeated), to: attempt.run)
            return false
        case .now, .later:
            return true
        }
    }

    /// The number of requests that may be written on a connection that must show that it works; nil for any number.
    private func outageAllowance(on id: ConnectionID) -> Int? {
        // Without trouble, the connection need not be looked up for each write.
        guard !self.outage.isNone else { return nil }
        return self.outage.allowance(
            on: id,
            underWay: self.connections[id].underWay + self.connections[id].conduct.inARow,
            allUnderWay: self.connections.underWayOnTaking
        )
    }

    private mutating func mayWrite(to id: ConnectionID, now: Moment) -> Bool {
        guard self.hasWork, !self.isPaused, self.connections[id].mayWrite(now: now.monotonic) else { return false }
        guard self.authorization.asksAgainAt == nil else { return false }
        return self.connections[id].mayUsePath(now: now)
    }

    /// Returns whether a notification may still be written. If not, it gets its outcome.
    private mutating func isInTime(_ run: BatchRun, _ attempt: Attempt?, now: Moment) -> Bool {
        let entry = run.entries[0]
        let isLate = run.submitted + self.deadline <= now.monotonic
        // The value 0 is ``Expiration/once`` and never passes.
        let isExpired = entry.fields.hasExpiration && entry.expiration != 0 && entry.expiration <= now.epochSeconds
        guard isLate || isExpired else { return true }
        if let attempt, attempt.rejection != nil || entry.marks.isTainted {
            self.giveUp(attempt, .deadline, .notRepeated, isFinal: true)
        } else if entry.marks.isTainted {
            self.outcomes.give(.uncertain(.notRepeated), to: run)
        } else if isExpired {
            self.outcomes.give(.expired, to: run)
        } else {
            self.outcomes.give(.undelivered(self.lateCause), to: run, isFinal: true)
        }
        return false
    }

    /// Returns whether APNs would refuse the notification. If so, it gets that outcome.
    private mutating func isFaulty(_ run: BatchRun) -> Bool {
        guard let fault = self.fields.check.fault(of: run.entries[0], in: run.storage.arena) else { return false }
        self.outcomes.give(.rejected(fault.rejection), to: run)
        return true
    }

    /// Makes one request. Returns false when the connection takes no more requests; the attempt is queued again.
    private mutating func make(_ attempt: Attempt, on id: ConnectionID, now: Moment) -> Bool {
        let entry = attempt.run.entries[0]
        let arena = attempt.run.storage.arena
        self.fields.write(
            entry,
            in: arena,
            apnsID: attempt.apnsID,
            known: self.connections[id].streams.indexedNames
        )
        let payload = UnsafeBufferPointer(
            start: UnsafePointer(arena + Int(entry.offset) + Int(entry.tokenLength)),
            count: Int(entry.payloadLength)
        )
        var generation: UInt64 = 0
        if case .token(let token) = self.authorization { generation = token.generation }
        let slot = self.written.insert(attempt, tokenGeneration: generation, written: now.monotonic)
        do {
            try self.connections[id].request(
                slot,
                self.fields.block,
                payload: payload,
                names: IndexedNames(of: entry),
                now: now.monotonic
            )
            self.breaker.sent()
            self.outcomes.wrote(attempt.run)
            return true
        } catch {
            // The stream identifiers are used up, or the connection is about to end.
            _ = self.written.take(slot)
            self.again.prepend(attempt)
            self.leave(id, now: now)
            self.connectIfNeeded(now: now)
            return false
        }
    }
}

internal import DequeModule
package import FerryCore
package import FerryMachine
package import NIOCore

extension HTTP2Client {
    /// How many requests are made before their frames are written, so that these are still at hand then.
    private static let stride = 32

    /// Writes frames for a connection, new requests first, until about `limit` bytes.
    ///
    /// - Returns: whether anything was written. Then ``flushed(_:at:now:)`` follows.
    package mutating func write(
        _ id: ConnectionID,
        into buffer: inout ByteBuffer,
        atMost limit: Int,
        now: Moment
    ) -> Bool {
        self.leaveReplacedKey(now: now)
        self.reportHold(now: now)
        guard let connection = self.connection(id), !connection.isFinished else { return false }
        if connection.window.size > 0 { connection.firstClosed = nil }
        let start = buffer.writerIndex
        var tags: [Tag] = []
        while buffer.writerIndex - start < limit {
            let requests = self.request(on: connection, atMost: Self.stride, tags: &tags, now: now)
            let left = limit - (buffer.writerIndex - start)
            guard connection.session.write(into: &buffer, atMost: left) || requests > 0 else { break }
        }
        // What could not be written was refused by the session itself.
        self.read(connection, now: now)
        if !tags.isEmpty { self.report(.transmitted(id, tags: tags)) }
        // The connection may be full now, and what was refused before the wire may have been the last.
        self.connectIfNeeded(now: now)
        self.checkCompleted(now: now)
        self.finishIfDone(connection, now: now)
        if connection.session.write(into: &buffer, atMost: limit - (buffer.writerIndex - start)) {
            self.read(connection, now: now)
        }
        if connection.session.isViolated {
            self.report(.error(self.violation(nil)))
        }
        if connection.session.isOver, !connection.isFinished { self.finish(connection, now: now) }
        self.finishIfDone(connection, now: now)
        guard buffer.writerIndex > start else { return false }
        connection.lastUse = now.monotonic
        return true
    }

    /// What was written is with TLS, and the stream below it ends there now.
    package mutating func flushed(_ id: ConnectionID, at end: UInt64, now: Moment) {
        self.connection(id)?.sentTo = end
    }

    /// Makes up to `limit` requests; returns how many.
    private mutating func request(
        on connection: HTTP2Connection,
        atMost limit: Int,
        tags: inout [Tag],
        now: Moment
    ) -> Int {
        guard self.mayWrite(to: connection, now: now) else { return 0 }
        if self.unsettledCount == 0 { self.breaker.nothingUnderWay() }
        var made = 0
        var room = min(connection.room, limit)
        if let allowance = self.breaker.allowance(now: now.monotonic) { room = min(room, allowance) }
        while made < room, !self.again.isEmpty {
            let attempt = self.again.removeFirst()
            guard self.isInTime(attempt.run, attempt, now: now) else { continue }
            guard self.make(attempt, on: connection, now: now) else { return made }
            made += 1
            if attempt.wasWritten { self.outcomes.resent += 1 }
            self.note(attempt.run, in: &tags)
        }
        while made < room, let run = self.fresh.popFirst(atMost: room - made) {
            for index in 0..<run.count {
                let one = run.slice(index..<index + 1)
                guard self.isInTime(one, nil, now: now), !self.isFaulty(one) else { continue }
                let attempt = Attempt(run: one, apnsID: self.identifier(of: one))
                guard self.isItsTurn(attempt, now: now) else { continue }
                guard self.make(attempt, on: connection, now: now) else {
                    self.fresh.prepend(run.slice(index + 1..<run.count))
                    return made
                }
                made += 1
                self.note(one, in: &tags)
            }
        }
        return made
    }

    /// Notes the tag of what was written, where someone listens. That of an awaited notification is the provider's own.
    private func note(_ run: BatchRun, in tags: inout [Tag]) {
        guard self.reportsTransmitted, !run.entries[0].fields.isAwaited else { return }
        tags.append(Tag(run.entries[0].tag))
    }

    /// Whether a device may get a notification now; if not, that waits or gets its outcome.
    private mutating func isItsTurn(_ attempt: Attempt, now: Moment) -> Bool {
        let hash = attempt.run.entries[0].tokenHash
        switch self.pacer.take(hash, before: attempt.submitted + self.deadline, now: now.monotonic) {
        case .later(let due) where !self.delayed.isFull:
            self.delayed.insert(attempt, due: due)
            return false
        case .tooLate:
            self.outcomes.give(.undelivered(.deadline), to: attempt.run)
            return false
        case .now, .later:
            return true
        }
    }

    private func mayWrite(to connection: HTTP2Connection, now: Moment) -> Bool {
        guard !self.isPaused, connection.room > 0 else { return false }
        if let until = connection.pausedUntil, until > now.monotonic { return false }
        if case .held = self.authorization { return false }
        return true
    }

    /// The caller's `apns-id`, or a new one.
    private mutating func identifier(of run: BatchRun) -> APNSID {
        let entry = run.entries[0]
        guard entry.fields.hasAPNSID else { return self.makeIdentifier() }
        let end = Int(entry.offset) + run.storage.byteCount(at: run.start)
        return APNSID(reading: run.storage.arena + end - 16)
    }

    /// Whether a notification may still be written; if not, it gets its outcome.
    private mutating func isInTime(_ run: BatchRun, _ attempt: Attempt?, now: Moment) -> Bool {
        let entry = run.entries[0]
        let isLate = run.submitted + self.deadline <= now.monotonic
        // 0 is ``Expiration/once``, which never passes.
        let isExpired = entry.fields.hasExpiration && entry.expiration != 0 && entry.expiration <= now.epochSeconds
        guard isLate || isExpired else { return true }
        if let attempt, attempt.rejection != nil || entry.marks.isTainted {
            self.giveUp(attempt, .deadline, .notRepeated)
        } else if isExpired {
            self.outcomes.give(.expired, to: run)
        } else {
            self.outcomes.give(.undelivered(self.lateCause), to: run)
        }
        return false
    }

    /// Why what is late is late.
    var lateCause: Outcome.UndeliveredCause {
        if self.isBrokenByCredentials { return .credentials }
        if case .held = self.authorization, self.usesTokens, !self.connections.isEmpty { return .credentials }
        return self.connections.isEmpty ? .noConnection : .deadline
    }

    /// Whether APNs would refuse the notification; then it gets that outcome.
    private mutating func isFaulty(_ run: BatchRun) -> Bool {
        guard let fault = self.fields.check.fault(of: run.entries[0], in: run.storage.arena) else { return false }
        self.outcomes.give(.rejected(fault.rejection), to: run)
        return true
    }

    /// Makes one request. False when the connection takes none any more: then the attempt is queued again.
    private mutating func make(_ attempt: Attempt, on connection: HTTP2Connection, now: Moment) -> Bool {
        let entry = attempt.run.entries[0]
        let arena = attempt.run.storage.arena
        self.fields.write(
            entry,
            in: arena,
            apnsID: attempt.apnsID,
            known: connection.indexedNames
        )
        let payload = UnsafeBufferPointer(
            start: UnsafePointer(arena + Int(entry.offset) + Int(entry.tokenLength)),
            count: Int(entry.payloadLength)
        )
        do {
            let stream = try connection.session.request(self.fields.block, body: payload)
            connection.indexedNames.formUnion(IndexedNames(of: entry))
            self.breaker.sent()
            var generation: UInt64 = 0
            if case .token(let token) = self.authorization { generation = token.generation }
            var attempt = attempt
            attempt.wasWritten = true
            connection.inFlight.insert(
                attempt,
                stream,
                tokenGeneration: generation,
                written: now.monotonic,
                sentFrom: connection.sentTo
            )
            return true
        } catch {
            // The stream identifiers are used up, or the connection is about to end.
            self.again.prepend(attempt)
            self.leave(connection, now: now)
            self.connectIfNeeded(now: now)
            return false
        }
    }
}

package import FerryCore
package import FerryMachine
package import NIOCore

/// What the peer says.
extension BinaryClient {
    /// In bytes: what every device token has had so far.
    private static let usualTokenLength = 32

    /// Takes what came on a connection, however it was split.
    ///
    /// - Parameter handed: how many bytes of the stream below TLS the system took so far.
    package mutating func received(_ id: ConnectionID, _ bytes: ByteBuffer, handed: UInt64, now: Moment) {
        var bytes = bytes
        while let index = self.lane(of: id), self.lanes[index].connection != nil, bytes.readableBytes > 0 {
            self.lanes[index].connection?.activeAt = now.monotonic
            switch self.lanes[index].connection?.responses.next(in: &bytes) {
            case .response(let response):
                self.respond(to: response, on: index, handed: handed, now: now)
            case .notAResponse(let firstByte):
                self.violated(index, firstByte: firstByte, ForeignProtocol(bytes), handed: handed, now: now)
            case .needMore, nil:
                break
            }
        }
        // Behind the response that ended the connection, or behind what is none, nothing has a meaning.
        self.outcomes.strayBytes += bytes.readableBytes
        self.advance(now: now)
    }

    private mutating func respond(to response: ErrorResponse, on index: Int, handed: UInt64, now: Moment) {
        // No copy of the connection may live through a change of it: its caches would be copied for each response.
        guard let issued = self.lanes[index].connection?.cache.issued else { return }
        let probe = self.lanes[index].connection?.probe?.sequence
        let sequence = Identifier.sequence(of: response.identifier, in: issued)
        if let probe, self.answers(probe, response, sequence: sequence, on: index) {
            self.probeBackOff.reset()
            self.confirm(before: probe, on: index, now: now)
            self.lanes[index].connection?.hasProgress = true
            self.hangUp(index, now: now)
            return
        }
        if let sequence {
            self.noteDelay(of: response.status, naming: sequence, on: index, now: now)
            self.settle(sequence, by: response.status, on: index, now: now)
        } else if response.status == .noErrorsEncountered {
            return
        } else {
            let cause: Unknown = response.status == .shutdown ? .noCulprit : .culprit(response.status)
            self.positionUnknown(index, cause, handed: handed, now: now)
            self.hangUp(index, now: now)
        }
    }

    /// How late the response came for the first notification that it says was not accepted, if any.
    private mutating func noteDelay(
        of status: BinaryStatus,
        naming sequence: UInt64,
        on index: Int,
        now: Moment
    ) {
        guard status != .noErrorsEncountered else { return }
        let refused = status.namesAccepted ? sequence + 1 : sequence
        guard let writtenAt = self.lanes[index].connection?.cache.writtenAt(refused) else { return }
        self.delay.saw(now.monotonic - writtenAt, now: now.monotonic)
    }

    /// Whether a response is the answer to the probe, and so proves everything before it.
    ///
    /// Without an identifier only the status tells. No notification lacks a token or a payload, so 2 and 4 can only
    /// mean the probe; 5 can, unless a token of unusual size is on the wire.
    private func answers(_ probe: UInt64, _ response: ErrorResponse, sequence: UInt64?, on index: Int) -> Bool {
        if sequence == probe { return true }
        guard response.identifier == 0 else { return false }
        switch response.status {
        case .missingDeviceToken, .missingPayload: return true
        case .invalidTokenSize:
            return self.lanes[index].connection?.cache.unsettled.allSatisfy { written in
                (0..<written.run.count).allSatisfy { written.run.entries[$0].tokenLength == Self.usualTokenLength }
            } ?? false
        default: return false
        }
    }

    /// A response that names a notification of this connection.
    private mutating func settle(_ sequence: UInt64, by status: BinaryStatus, on index: Int, now: Moment) {
        if status.namesAccepted {
            self.confirm(before: sequence + 1, on: index, now: now)
            if status == .noErrorsEncountered { return }
        } else {
            self.confirm(before: sequence, on: index, now: now)
        }
        let before = self.lanes[index].connection.map { Int(sequence - $0.cache.start) } ?? 0
        var followers = self.takeFollowers(of: sequence, on: index)
        if !status.namesAccepted, let retried = self.reject(sequence, status, on: index) {
            followers.insert(retried, at: 0)
        }
        self.resend(followers, on: index)
        self.narrowWindow(index, progress: status.namesAccepted ? before + 1 : before, now: now)
        self.lanes[index].isolation = nil
        self.progressed(index, by: 1)
        self.hangUp(index, now: now)
    }

    /// Bounds what may be in flight by how far connections get until the peer ends them.
    mutating func narrowWindow(_ index: Int, progress: Int, now: Moment) {
        self.lanes[index].window.narrow(
            progress: progress,
            cacheLength: self.effectiveCacheLength,
            settleTime: self.delay.settleTime,
            now: now.monotonic
        )
        if let size = self.lanes[index].window.size { self.report(.windowAdjusted(size)) }
    }

    /// Settles everything before `end` as proved.
    private mutating func confirm(before end: UInt64, on index: Int, now: Moment) {
        guard let settled = self.lanes[index].connection?.cache.settle(before: end, at: now.monotonic) else { return }
        self.lanes[index].connection?.silence.settled(before: end)
        self.lanes[index].connection?.noteProof(before: end)
        for written in settled {
            self.outcomes.give(.accepted(.confirmed), to: written.run)
            self.progressed(index, by: written.run.count)
            self.cleared(written.run.count, on: index)
        }
        self.endIsolationIfOver(index)
    }

    /// Settles the notification that the peer named; returns it if it is to be sent once more instead.
    private mutating func reject(_ sequence: UInt64, _ status: BinaryStatus, on index: Int) -> BatchRun? {
        guard let cache = self.lanes[index].connection?.cache else { return nil }
        let isCached = cache.isCached(sequence)
        if !isCached, self.options.cachePolicy == .evict {
            let shortfall = Int(cache.cachedFrom - sequence)
            self.report(.cacheTooSmall(by: shortfall))
            if self.options.autoAdjustCache {
                self.cacheLength = min(self.cacheLength + shortfall, max(self.options.cacheLimit.entries, 1))
            }
        }
        let rejection = Self.rejection(status, .gateway)
        guard let run = self.lanes[index].connection?.cache.remove(sequence)?.run else {
            self.outcomes.contradict(count: 1, tags: [], kind: .rejected(rejection))
            self.report(.transmissionError(rejection, tag: nil, notification: nil, device: nil))
            return nil
        }
        if status == .processingError || status == .unknown, isCached, self.mayRetry(run) { return run }
        self.outcomes.give(.rejected(rejection), to: run)
        self.report(self.transmissionError(rejection, run, isCached: isCached))
        return nil
    }

    private func mayRetry(_ run: BatchRun) -> Bool {
        guard Int(run.entries[0].retries) < min(self.options.retryLimit, Int(UInt8.max)) else { return false }
        run.entries[0].retries += 1
        return true
    }

    func transmissionError(_ rejection: Rejection, _ run: BatchRun, isCached: Bool) -> ProviderEvent {
        let entry = run.entries[0]
        return .transmissionError(
            rejection,
            tag: entry.fields.isAwaited ? nil : Tag(entry.tag),
            notification: isCached ? run.notification(at: 0) : nil,
            device: isCached ? run.device(at: 0) : nil
        )
    }

    /// Takes what was written after `sequence` and settles what cannot be sent again; returns the rest.
    private mutating func takeFollowers(of sequence: UInt64, on index: Int) -> [BatchRun] {
        guard let connection = self.lanes[index].connection else { return [] }
        let knownFrom = connection.cache.knownFrom
        if sequence + 1 < knownFrom {
            self.outcomes.contradict(count: Int(knownFrom - sequence - 1), tags: [], kind: .lost)
        }
        let cachedFrom = connection.cache.cachedFrom
        var followers: [BatchRun] = []
        for var written in self.lanes[index].connection?.cache.removeFollowers(of: sequence) ?? [] {
            let evicted = written.takeFirst(before: cachedFrom)
            if evicted.run.count > 0 {
                self.outcomes.give(.undelivered(.evicted), tainted: .uncertain(.notRepeated), to: evicted.run)
            }
            guard written.run.count > 0 else { continue }
            if self.options.buffersNotifications {
                followers.append(written.run)
            } else {
                self.outcomes.give(.undelivered(.discarded), tainted: .uncertain(.notRepeated), to: written.run)
            }
        }
        return followers
    }

    static func rejection(_ status: BinaryStatus, _ origin: Rejection.Origin) -> Rejection {
        Rejection(reason: Reason(binaryStatus: status.rawValue), origin: origin, status: Int(status.rawValue))
    }

    /// Puts notifications that were written back into the queue, for another copy.
    mutating func resend(_ runs: [BatchRun], on index: Int) {
        var count = 0
        var repairs = 0
        // From the last on, each belongs to the very front: in the other direction each would pass all before it.
        for run in runs.reversed() {
            if run.entries[0].marks.isSettled { repairs += run.count } else { count += run.count }
            self.lanes[index].queue.insert(run)
        }
        self.outcomes.resent += count + repairs
        if repairs > 0 { self.report(.resent(count: repairs, afterOutcome: true)) }
        if count > 0 { self.report(.resent(count: count, afterOutcome: false)) }
    }

    /// Bytes that are no error response.
    private mutating func violated(
        _ index: Int,
        firstByte: UInt8,
        _ foreign: ForeignProtocol?,
        handed: UInt64,
        now: Moment
    ) {
        self.positionUnknown(index, .noCulprit, handed: handed, now: now)
        self.lanes[index].violations += 1
        let what =
            foreign.map { "it speaks \($0)." }
            ?? "it began with byte \(firstByte) where an error response begins with 8."
        let error = ProviderError(
            .protocolViolation,
            "The peer does not speak the binary protocol: \(what) Check that host and port are those of a binary gateway, "
                + "and not of APNs over HTTP/2.",
            cause: foreign
        )
        if let id = self.lanes[index].connectionID { self.report(.socketError(id, error)) }
        if self.lanes[index].violations == Self.violationLimit { self.report(.error(error)) }
        self.hangUp(index, now: now)
    }

    /// Gives the connection up: what the peer discards needs no more bytes.
    mutating func hangUp(_ index: Int, now: Moment) {
        guard let connection = self.lanes[index].connection else { return }
        self.act(.close(connection.id))
        self.closed(index, now: now)
    }
}

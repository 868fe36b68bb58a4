package import FerryCore
package import FerryMachine
package import NIOCore

/// What the peer says.
extension BinaryClient {
    /// How many responses of a connection may confirm nothing, beyond one for each notification: with more the peer keeps
    /// the client listening, and silence settles nothing.
    static let idleResponseLimit = 1000

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
        // Bytes after a response that ended the connection, or after an invalid one, are ignored.
        self.outcomes.strayBytes += bytes.readableBytes
        self.advance(now: now)
    }

    private mutating func respond(to response: ErrorResponse, on index: Int, handed: UInt64, now: Moment) {
        // No copy of the connection may live through a change of it: its caches would be copied for each response.
        guard let issued = self.lanes[index].connection?.cache.issued else { return }
        let probe = self.lanes[index].connection?.probe
        let sequence = Identifier.sequence(of: response.identifier, in: issued)
        if let probe, probe.isAwaited, Self.answers(probe.sequence, response, sequence: sequence) {
            self.answered(probe, on: index, now: now)
        } else if response.status == .noErrorsEncountered || sequence != nil && sequence == probe?.sequence {
            self.confirmOnly(sequence, on: index, handed: handed, now: now)
        } else if let sequence {
            self.noteDelay(of: response.status, naming: sequence, on: index, now: now)
            self.settle(sequence, by: response.status, on: index, now: now)
        } else {
            self.lanes[index].connection?.lastWord = .response(response)
            self.positionUnknown(index, Self.meaning(of: response.status), handed: handed, now: now)
            self.hangUp(index, now: now)
        }
    }

    /// What follows from an error response that names no notification.
    private static func meaning(of status: BinaryStatus) -> Unknown {
        switch status {
        case .shutdown: .noCulprit
        // The gateway's own trouble, as far as anyone can tell: to blame a notification for it would lose good ones.
        case .processingError, .unknown: .wordless
        default: .culprit(status)
        }
    }

    /// How late the response came for the first notification that it says was not accepted, if any.
    private mutating func noteDelay(
        of status: BinaryStatus,
        naming sequence: UInt64,
        on index: Int,
        now: Moment
    ) {
        let refused = status.namesAccepted ? sequence + 1 : sequence
        guard let writtenAt = self.lanes[index].connection?.cache.writtenAt(refused) else { return }
        self.delay.saw(now.monotonic - writtenAt, now: now.monotonic)
    }

    /// Whether a response is the answer to the probe, and so proves everything before it.
    ///
    /// Without an identifier only the status tells. No notification lacks a token or a payload, so 2 and 4 can only mean
    /// the probe. Status 5 can also mean a token that APNs does not know.
    private static func answers(_ probe: UInt64, _ response: ErrorResponse, sequence: UInt64?) -> Bool {
        if sequence == probe { return true }
        return response.identifier == 0 && [.missingDeviceToken, .missingPayload].contains(response.status)
    }

    /// The probe was answered: the peer judges in order, so everything before it was accepted.
    private mutating func answered(_ probe: Probe, on index: Int, now: Moment) {
        self.probeBackOff.reset()
        self.lanes[index].connection?.probe?.isAwaited = false
        self.confirm(before: probe.sequence, on: index, now: now)
        self.lanes[index].connection?.progressed(.proved)
        switch probe.purpose {
        // A peer that does not judge in order may still object.
        case .end: self.finish(index, now: now)
        case .room: self.hangUp(index, now: now)
        }
    }

    /// Everything up to `sequence` was accepted, and the connection goes on.
    private mutating func confirmOnly(_ sequence: UInt64?, on index: Int, handed: UInt64, now: Moment) {
        if let sequence, self.confirm(before: sequence + 1, on: index, now: now) > 0 { return }
        self.lanes[index].connection?.idleResponses += 1
        guard let connection = self.lanes[index].connection,
            connection.idleResponses > Self.idleResponseLimit + connection.cache.issued.count
        else { return }
        let what = "it sent \(connection.idleResponses) responses with status 0 that confirm nothing."
        self.violated(index, what, cause: nil, handed: handed, now: now)
    }

    /// A response that names a notification of this connection.
    private mutating func settle(_ sequence: UInt64, by status: BinaryStatus, on index: Int, now: Moment) {
        self.lanes[index].isolation = nil
        self.confirm(before: status.namesAccepted ? sequence + 1 : sequence, on: index, now: now)
        let before = self.lanes[index].connection.map { Int(sequence - $0.cache.start) } ?? 0
        var followers = self.takeFollowers(of: sequence, on: index)
        if !status.namesAccepted, let retried = self.reject(sequence, status, on: index) {
            followers.insert(retried, at: 0)
        }
        self.resend(followers, on: index)
        self.narrowWindow(index, progress: status.namesAccepted ? before + 1 : before, now: now)
        self.progressed(index, by: 1, .proved)
        self.lanes[index].acceptedSinceError = 0
        self.hangUp(index, now: now)
    }

    /// Bounds what may be in flight by how many notifications are accepted until the peer ends some.
    ///
    /// - Parameter progress: how many that were this time; nil: as far as their outcomes tell.
    mutating func narrowWindow(_ index: Int, progress: Int? = nil, now: Moment) {
        self.lanes[index].window.narrow(
            progress: progress ?? self.lanes[index].acceptedSinceError,
            limit: self.unsettledLimit,
            settleTime: self.delay.settleTime,
            now: now.monotonic
        )
        self.lanes[index].acceptedSinceError = 0
        if let size = self.lanes[index].window.size { self.report(.windowAdjusted(size)) }
    }

    /// Settles everything before `end` as proved; returns how many notifications that were.
    @discardableResult
    private mutating func confirm(before end: UInt64, on index: Int, now: Moment) -> Int {
        guard let settled = self.lanes[index].connection?.cache.settle(before: end, at: now.monotonic) else { return 0 }
        self.lanes[index].connection?.silence.settled(before: end)
        self.lanes[index].connection?.noteProof(before: end)
        var count = 0
        for written in settled {
            self.outcomes.give(.accepted(.confirmed), to: written.run)
            self.progressed(index, by: written.run.count, .proved)
            count += written.run.count
        }
        self.narrowSearch(index, settled: count, now: now)
        return count
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
    ///
    /// - Parameter aheadOfAll: whether they go before what was submitted earlier.
    mutating func resend(_ runs: [BatchRun], on index: Int, aheadOfAll: Bool = false) {
        var count = 0
        var repairs = 0
        // From the last on, each belongs to the very front: in the other direction each would pass all before it.
        for var run in runs.reversed() {
            if run.entries[0].marks.isSettled { repairs += run.count } else { count += run.count }
            run.isCopy = true
            if aheadOfAll { self.lanes[index].queue.prepend(run) } else { self.lanes[index].queue.insert(run) }
        }
        if repairs > 0 {
            self.report(.resent(count: repairs, afterOutcome: true))
            self.isIncomplete = true
        }
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
        let what =
            foreign.map { "it speaks \($0)." }
            ?? "it began with byte \(firstByte) where an error response begins with 8."
        self.violated(index, what, cause: foreign, handed: handed, now: now)
    }

    /// The peer does not keep to the protocol.
    private mutating func violated(
        _ index: Int,
        _ what: String,
        cause: ForeignProtocol?,
        handed: UInt64,
        now: Moment
    ) {
        let error = ProviderError(
            .protocolViolation,
            "The peer does not speak the binary protocol: \(what) Check that host and port are those of a binary gateway, "
                + "and not of APNs over HTTP/2.",
            cause: cause
        )
        self.lanes[index].connection?.lastWord = .failure(error)
        self.positionUnknown(index, .violation, handed: handed, now: now)
        self.lanes[index].violations += 1
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

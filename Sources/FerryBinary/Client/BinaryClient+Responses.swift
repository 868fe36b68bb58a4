package import FerryCore
package import FerryMachine
package import NIOCore

/// The responses of the peer.
extension BinaryClient {
    /// The number of responses that may confirm nothing, beyond one for each notification. Otherwise a peer could send
    /// such responses for ever, and silence would settle nothing.
    static let idleResponseLimit = 1000

    /// Takes bytes of a connection, which may be split anywhere.
    ///
    /// - Parameter handed: the number of bytes that the system took of the stream below TLS so far.
    package mutating func received(_ id: ConnectionID, _ bytes: ByteBuffer, handed: UInt64, now: Moment) {
        var bytes = bytes
        while bytes.readableBytes > 0, let lane = self.lane(of: id), lane.connection.establishedID != nil {
            switch lane.connection.received(&bytes, now: now.monotonic) {
            case .nothing:
                break
            case .answer(let probe):
                self.answered(probe, on: lane, now: now)
            case .acceptance(let end):
                self.confirmOnly(before: end, on: lane, handed: handed, now: now)
            case .verdict(let sequence, let status):
                self.noteDelay(of: status, naming: sequence, on: lane, now: now)
                self.settle(sequence, by: status, on: lane, now: now)
            case .nameless(let response):
                let cause = PositionUnknown(namelessStatus: response.status)
                let ending = self.positionUnknown(lane, cause, lastWord: .response(response), handed: handed, now: now)
                self.hangUp(lane, ending, now: now)
            case .violation(let what, let foreign):
                self.violated(lane, what, cause: foreign, handed: handed, now: now)
            }
        }
        // Bytes after a response that ended the connection, or after an invalid one, are ignored.
        self.outcomes.ignored(bytes: bytes.readableBytes)
        self.advance(now: now)
    }

    /// Settles everything before `end` as accepted. The connection stays open.
    private mutating func confirmOnly(before end: UInt64?, on lane: Lane, handed: UInt64, now: Moment) {
        if let end, self.confirm(before: end, on: lane, now: now) > 0 { return }
        guard let count = lane.connection.confirmedNothing(limit: Self.idleResponseLimit) else { return }
        let what = "it sent \(count) responses with status 0 that confirm nothing."
        self.violated(lane, what, cause: nil, handed: handed, now: now)
    }

    /// Handles bytes that break the protocol.
    private mutating func violated(
        _ lane: Lane,
        _ what: String,
        cause: ForeignProtocol?,
        handed: UInt64,
        now: Moment
    ) {
        let error = ProviderError(
            .protocolViolation,
            "The peer does not speak the binary protocol: \(what) \(cause?.advice ?? ForeignProtocol.adviceForOthers)",
            cause: cause,
            isLasting: cause != nil
        )
        self.outcomes.failed(error)
        if self.isFinal(error, of: lane), let id = lane.connection.establishedID {
            // A peer that speaks another protocol from its first byte has taken no notification.
            self.report(.socketError(id, error))
            self.act(.close(id))
            return self.tookNothing(lane, error, isFinal: true, now: now)
        }
        let ending = self.positionUnknown(lane, .violation, lastWord: .failure(error), handed: handed, now: now)
        let violations = lane.violated()
        if let id = lane.connection.id { self.report(.socketError(id, error)) }
        if violations == Self.violationLimit { self.report(.error(error)) }
        self.hangUp(lane, ending, now: now)
    }

    // MARK: A response that names a notification

    /// Notes how late the response came for the first notification that it refuses or discards, if any.
    private mutating func noteDelay(
        of status: BinaryStatus,
        naming sequence: UInt64,
        on lane: Lane,
        now: Moment
    ) {
        let refused = status.namesAccepted ? sequence + 1 : sequence
        guard let writtenAt = lane.connection.cache.writtenAt(refused) else { return }
        self.noteDelay(now: now.monotonic) { $0.saw(now.monotonic - writtenAt, now: now.monotonic) }
    }

    /// Accepts the notifications before the named one, accepts or rejects the named one as the status says, queues the
    /// later ones again, and gives up the connection.
    private mutating func settle(_ sequence: UInt64, by status: BinaryStatus, on lane: Lane, now: Moment) {
        lane.endSearch()
        let acceptedEnd = status.namesAccepted ? sequence + 1 : sequence
        self.confirm(before: acceptedEnd, on: lane, now: now)
        var followers = self.takeFollowers(of: sequence, on: lane)
        if !status.namesAccepted, let retried = self.reject(sequence, status, on: lane) {
            followers.insert(retried, at: 0)
        }
        self.resend(followers, on: lane)
        lane.connection.proved()
        lane.progressed(by: 1)
        self.narrowWindow(lane, progress: Int(acceptedEnd - lane.connection.cache.start), now: now)
        self.hangUp(lane, now: now)
    }

    /// Removes the notifications after `sequence`, and settles those that cannot be sent again; returns the others.
    private mutating func takeFollowers(of sequence: UInt64, on lane: Lane) -> [BatchRun] {
        let knownFrom = lane.connection.cache.knownFrom
        if sequence + 1 < knownFrom {
            self.outcomes.contradict(count: Int(knownFrom - sequence - 1), tags: [], kind: .lost)
        }
        let followers = lane.connection.takeFollowers(of: sequence)
        let cached = self.endEvicted(followers, on: lane, as: .undelivered(.evicted))
        if self.options.buffersNotifications { return cached }
        for run in cached {
            self.outcomes.give(.undelivered(.discarded), tainted: .uncertain(.notRepeated), to: run)
        }
        return []
    }

    /// Settles the notification that the peer named, or returns it if it must be sent again.
    private mutating func reject(_ sequence: UInt64, _ status: BinaryStatus, on lane: Lane) -> BatchRun? {
        let cachedFrom = lane.connection.cache.cachedFrom
        let isCached = sequence >= cachedFrom
        if !isCached, self.options.cachePolicy == .evict {
            let shortfall = Int(cachedFrom - sequence)
            self.report(.cacheTooSmall(by: shortfall))
            self.cacheLength.fellShort(by: shortfall)
        }
        let rejection = Self.rejection(status, .gateway)
        guard let written = lane.connection.take(sequence) else {
            self.outcomes.contradict(count: 1, tags: [], kind: .rejected(rejection))
            self.report(.transmissionError(rejection, tag: nil, notification: nil, device: nil))
            return nil
        }
        let run = written.run
        let isPassing = status == .processingError || status == .unknown
        if isPassing, isCached, run.retry(atMost: self.options.retryLimit) { return run }
        self.outcomes.give(.rejected(rejection), to: run, writtenAt: written.writtenAt)
        self.report(self.transmissionError(rejection, run, isCached: isCached))
        return nil
    }
}

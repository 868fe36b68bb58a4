internal import FerryCore
internal import FerryMachine
internal import NIOCore

/// The connection of a lane: the notifications that were written on it, and the peer's responses.
///
/// ``State`` has the drawing. The other properties belong to the present connection, and are empty without one. The
/// type knows no other connections, options or outcomes, because ``BinaryClient`` draws the conclusions.
struct BinaryConnection: ~Copyable {
    private(set) var state = State.idle
    private(set) var cache = NotificationCache(start: 0)
    private(set) var silence = Silence()
    private var responses = ResponseReader()

    // MARK: From one state to the next

    mutating func dial(_ id: ConnectionID, now: NIODeadline) { self.state.dial(id, now: now) }

    mutating func wait(until deadline: NIODeadline) { self.state.wait(until: deadline) }

    mutating func rest() { self.state.rest() }

    /// Returns false if nothing was being dialled.
    mutating func opened(firstSequence: UInt64, now: NIODeadline) -> Bool {
        guard self.state.opened(now: now) else { return false }
        self.cache = NotificationCache(start: firstSequence)
        return true
    }

    /// Returns the connection that was being dialled, if any.
    mutating func stopDialling() -> ConnectionID? { self.state.stopDialling() }

    mutating func finish(until deadline: NIODeadline) -> ConnectionID { self.state.finish(until: deadline) }

    mutating func close() -> Closed {
        let closed = self.state.close()
        self.cache = NotificationCache(start: 0)
        self.silence = Silence()
        self.responses = ResponseReader()
        return closed
    }

    // MARK: Writing

    mutating func wrote(_ run: BatchRun, now: NIODeadline) {
        assert(self.open != nil, "notifications are written on an open connection")
        self.cache.append(run, at: now)
    }

    /// Makes the probe the last frame of the connection; returns its sequence number.
    mutating func wroteProbe(_ purpose: Probe.Purpose, now: NIODeadline) -> UInt64 {
        let sequence = self.cache.skip()
        self.state.probe(Probe(sequence: sequence, writtenAt: now, purpose: purpose))
        return sequence
    }

    mutating func carried(now: NIODeadline) { self.state.carried(now: now) }

    mutating func flushed(at offset: UInt64, now: NIODeadline) {
        self.silence.flushed(self.cache.next, at: offset, now: now)
    }

    mutating func writability(_ isWritable: Bool) { self.state.writability(isWritable) }

    // MARK: Reading

    /// Whether the stream ended in the middle of an error response.
    var isTruncated: Bool { self.responses.isTruncated }

    /// Takes the bytes up to the end of one error response.
    mutating func received(_ bytes: inout ByteBuffer, now: NIODeadline) -> ResponseReader.Heard {
        self.carried(now: now)
        return self.responses.next(
            in: &bytes,
            issued: self.cache.issued,
            awaited: self.probe,
            answered: self.probeSequence
        )
    }

    /// Notes that a response confirmed nothing. Returns the number of such responses when there are too many.
    ///
    /// - Parameter limit: the allowed number, beyond one for each notification.
    mutating func confirmedNothing(limit: Int) -> Int? {
        self.responses.confirmedNothing(limit: limit + self.cache.issued.count)
    }

    // MARK: Silence

    /// The result of a look at the connection.
    enum Looked {
        case nothing
        /// The peer was silent.
        ///
        /// - Parameters:
        ///   - settled: notifications before this sequence number had silence for the settle time; nil: no new ones.
        ///   - isQuiet: whether the peer was silent about everything written for the quiet time.
        case silent(settled: UInt64?, isQuiet: Bool)
        /// The peer's TCP has acknowledged nothing for ``Silence/stallLimit``.
        case stalled
    }

    /// Takes a sample.
    ///
    /// - Parameters:
    ///   - quietTime: how long a window of a search must be silent; nil when no window waits for silence.
    ///   - settles: whether silence settles anything.
    mutating func looked(
        _ sample: TransportSample,
        settleTime: TimeAmount,
        quietTime: TimeAmount?,
        settles: Bool,
        now: NIODeadline
    ) -> Looked {
        let settled = self.silence.look(
            sample,
            settleTime: settleTime,
            quietTime: quietTime,
            settles: settles,
            now: now
        )
        if let stalledFor = self.silence.stalledFor {
            // Notifications that a probe will prove need no acknowledgement. So on a system that reports none, they
            // cannot stall.
            let isStalled = stalledFor >= Silence.stallLimit && (sample.acknowledged != nil || settles)
            return isStalled ? .stalled : .nothing
        }
        let isQuiet = if let quietTime, let quietFor = self.silence.quietFor { quietFor >= quietTime } else { false }
        return settled == nil && !isQuiet ? .nothing : .silent(settled: settled, isQuiet: isQuiet)
    }

    /// Notes that during a search the peer was silent about everything that was written.
    mutating func cleared() { self.cache.clear() }

    // MARK: Outcomes

    /// Moves all notifications before `end` into the history as presumed accepted; returns those that had no outcome.
    mutating func presume(before end: UInt64, now: NIODeadline) -> [NotificationCache.Written] {
        let settled = self.cache.settle(before: end, at: now)
        if !settled.isEmpty { self.state.progressed(.presumed) }
        return settled
    }

    /// Moves all notifications before `end` into the history as proved; returns those that had no outcome.
    mutating func confirm(before end: UInt64, now: NIODeadline) -> [NotificationCache.Written] {
        let settled = self.cache.settle(before: end, at: now)
        self.cache.prove(before: end)
        self.silence.settled(before: end)
        if !settled.isEmpty { self.proved() }
        return settled
    }

    /// Notes that the peer's own response settled a notification.
    mutating func proved() { self.state.progressed(.proved) }

    // MARK: Bytes

    /// Removes the bytes of the oldest notifications until only `count` have theirs.
    mutating func evict(keeping count: Int) { self.cache.evict(keeping: count) }

    /// Removes the bytes of the oldest settled run. Returns the numbers of its notifications and bytes; nil if no settled
    /// run has bytes.
    mutating func evictOldestHistory() -> (count: Int, bytes: Int)? { self.cache.evictOldestHistory() }

    mutating func forget(settledUntil deadline: NIODeadline, stubLimit: Int) {
        self.cache.forget(settledUntil: deadline, stubLimit: stubLimit)
    }

    // MARK: The end

    /// Removes and returns all unsettled notifications.
    ///
    /// - Parameter handed: the total number of bytes that the system took of the stream below TLS.
    mutating func takeRemains(handed: UInt64) -> Remains {
        let boundary = self.silence.keptBack(handed: handed) ?? self.cache.next
        let presumedCount = self.presumedCount
        var mayHaveLeft: [NotificationCache.Written] = []
        var neverLeft: [NotificationCache.Written] = []
        for var written in self.cache.removeUnsettled() {
            let left = written.takeFirst(before: boundary)
            if left.run.count > 0 { mayHaveLeft.append(left) }
            if written.run.count > 0 { neverLeft.append(written) }
        }
        return Remains(
            mayHaveLeft: mayHaveLeft,
            neverLeft: neverLeft,
            isSole: boundary - self.cache.start == 1 && self.probeSequence == nil,
            isBehindLastProbe: self.probe?.purpose == .end,
            isBehindSearchProbe: self.probe?.purpose == .search,
            presumedCount: presumedCount,
            progress: self.progress
        )
    }

    /// Removes and returns the notification `sequence`; nil when it is no longer known.
    mutating func take(_ sequence: UInt64) -> NotificationCache.Written? { self.cache.remove(sequence) }

    mutating func takeFollowers(of sequence: UInt64) -> [NotificationCache.Written] {
        self.cache.removeFollowers(of: sequence)
    }

    /// Removes and returns the notifications that were presumed accepted and are not proved.
    ///
    /// - Parameter cached: whether to take only notifications that still have their bytes.
    mutating func takePresumed(cached: Bool) -> [NotificationCache.Written] {
        self.cache.removeHistory(from: self.cache.provedTo, cached: cached)
    }

    mutating func takeAll() -> [NotificationCache.Written] { self.cache.removeAll() }
}

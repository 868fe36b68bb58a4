package import FerryCore
package import NIOCore

/// The outcomes and the counts of a provider. It gives each notification one outcome.
package struct OutcomeLog {
    /// The given outcomes that were not taken yet, in order.
    package var records: [OutcomeRecord] = []
    /// The given outcomes of awaited entries that were not taken yet, in order.
    package var awaited: [OutcomeRecord] = []
    package private(set) var counts = OutcomeCounts()
    /// The number of awaited entries that are undelivered or uncertain. Their callers got these outcomes.
    package private(set) var awaitedLosses = 0
    /// The number of notifications that the peer accepted, or rejected for a fault of the notification.
    package private(set) var answered = 0
    /// The number of outcomes that turned out wrong.
    package private(set) var contradicted = 0
    /// The number of copies beyond the first that were written.
    package private(set) var resent = 0
    /// The acceptances that a shutdown could not prove; nil if it proved all.
    package private(set) var unproved: Unproved?
    /// The number of bytes that peers sent after the last message of their connection.
    package private(set) var strayBytes = 0
    /// The trouble since the peer last accepted or rejected a notification; nil if there was no trouble.
    package private(set) var trouble: ProviderError?
    /// The causes of the outcomes since the owner last took them; nil until ``countCauses()``.
    private var causes: OutcomeCauses?
    /// The times of submission of the notifications that got an outcome since the owner last took them; nil if they are
    /// not measured. The place in the array is the raw value of the ``OutcomeKind``.
    private var submissions: [EvenSample]?
    private var contradictions: [Contradiction] = []
    /// Whether a written notification has begun to wait for another copy since the owner last asked.
    package var hasRequeued = false
    /// The times that notifications took; nil if they are not measured.
    package var times: DeliveryTimes?
    /// Whether notifications that connections or credentials kept from delivery go to ``returned``, and get no outcome.
    /// Only notifications that were certainly not delivered go there.
    package var givesBack = false
    /// The returned notifications that were not taken yet, in the order of their submission.
    package var returned: [ReturnedRun] = []
    /// The number of notifications without an outcome in each group; nil while no group waits for them.
    package var tally: GroupTally?
    /// The numbers of this log that another log has absorbed.
    private var absorbed = Numbers()

    package init() {}

    /// Gives `outcome` to every notification of `run` that has no outcome yet.
    ///
    /// An outcome is final. If a notification already has one, a later `accepted` is ignored, and any other outcome is
    /// a contradiction. If the protocol names notifications, a second outcome would be a fault of the machine.
    ///
    /// - Parameters:
    ///   - apnsID: the notifications' name at APNs, if the protocol has names.
    ///   - errorCode: the code with which a request was reset.
    ///   - apnsUniqueID: the notifications' name in Apple's delivery log.
    ///   - writtenAt: the time at which the last copy was written; nil if no copy was written or the time is unknown.
    ///   - isFinal: whether the notifications are not given back, because they are too late or have lost their bytes.
    package mutating func give(
        _ outcome: Outcome,
        to run: BatchRun,
        writtenAt: NIODeadline? = nil,
        apnsID: APNSID? = nil,
        errorCode: HTTP2ErrorCode? = nil,
        apnsUniqueID: String? = nil,
        isFinal: Bool = false
    ) {
        if let writtenAt { self.times?.settled(outcome, writtenAt: writtenAt, count: run.count) }
        let record = OutcomeRecord(
            tag: 0,
            outcome: outcome,
            apnsID: apnsID,
            errorCode: errorCode,
            apnsUniqueID: apnsUniqueID,
            error: self.error(for: outcome)
        )
        guard self.givesBack, !isFinal, outcome.permitsAnotherWay else { return self.give(record, to: run) }
        run.forEachPart {
            !$0.marks.isSettled && !$0.marks.isTainted
        } _: { part, isUnharmed in
            if isUnharmed { self.giveBack(part, record) } else { self.give(record, to: part) }
        }
    }

    private mutating func giveBack(_ run: BatchRun, _ record: OutcomeRecord) {
        self.returned.append(ReturnedRun(run: run, record: record))
        self.uncount(run)
    }

    /// Gives the outcome of `record` to every notification of `run` that has no outcome yet. The tag of `record` is
    /// ignored.
    ///
    /// - Parameter wasReturned: whether the notifications were given back. ``tally`` does not count such notifications.
    package mutating func give(_ record: OutcomeRecord, to run: BatchRun, wasReturned: Bool = false) {
        let outcome = record.outcome
        let entries = run.entries
        var record = record
        let contradiction = Contradiction.Kind(outcome)
        var given = 0
        var contradictedCount = 0
        var contradicted: [PushTag] = []
        for index in 0..<run.count {
            let tag = PushTag(entries[index].tag)
            guard !entries[index].marks.isSettled else {
                assert(record.apnsID == nil, "a second outcome where each notification has a name, and so one answer")
                if contradiction != nil {
                    contradictedCount += 1
                    // An awaited notification has a tag of the provider, which means nothing to the caller.
                    if !entries[index].fields.isAwaited { contradicted.append(tag) }
                }
                continue
            }
            entries[index].marks.isSettled = true
            if !wasReturned { self.tally?.remove(entries[index]) }
            given += 1
            record.tag = tag
            if entries[index].fields.isAwaited {
                self.awaited.append(record)
                if outcome.isLoss { self.awaitedLosses += 1 }
            } else {
                self.records.append(record)
            }
        }
        self.counts.add(outcome, count: given)
        if outcome.isAnswer { self.answered += given }
        self.causes?.add(outcome, count: given)
        self.submissions?[Int(OutcomeKind(outcome).rawValue)].add(run.submitted.nanoseconds, count: given)
        if let contradiction {
            self.contradict(count: contradictedCount, tags: contradicted, kind: contradiction)
        }
    }

    /// Counts the causes of outcomes from now on, for ``takeCauses()``.
    package mutating func countCauses() { self.causes = OutcomeCauses() }

    /// Returns the causes of the outcomes since the last call.
    package mutating func takeCauses() -> OutcomeCauses {
        guard let causes else { return OutcomeCauses() }
        self.causes = OutcomeCauses()
        return causes
    }

    /// Measures the times from submission to outcome from now on, for ``takeTimes(over:until:)``.
    package mutating func measureTimes() {
        self.submissions = Array(repeating: EvenSample(), count: OutcomeKind.allCases.count)
    }

    /// Returns the times of the outcomes since the last call. They end at `now`, so that no clock is read for each
    /// outcome.
    ///
    /// - Parameter side: the protocol of this log.
    package mutating func takeTimes(over side: ProviderSide, until now: NIODeadline) -> ProviderActivity.Times {
        var times: ProviderActivity.Times = [:]
        for kind in OutcomeKind.allCases {
            let place = Int(kind.rawValue)
            guard var sample = self.submissions?[place], sample.count > 0 else { continue }
            self.submissions?[place] = EvenSample()
            // Submissions at the same time get times some nanoseconds apart, so such a time may be later than `now`.
            sample.change { max(now.nanoseconds - $0, 0) }
            times[ProviderActivity.TimedOutcome(over: side, kind)] = DurationSample(nanoseconds: sample)
        }
        return times
    }

    /// Notes trouble with connections, credentials or the peer. The outcomes that it causes carry the error.
    package mutating func failed(_ error: ProviderError) { self.trouble = error }

    /// Returns the error that belongs to an outcome. Forgets the trouble if the outcome shows that the peer works.
    private mutating func error(for outcome: Outcome) -> ProviderError? {
        switch outcome {
        case .undelivered, .uncertain: return self.trouble
        case .accepted: self.trouble = nil
        case .rejected(let rejection) where rejection.origin != .ferry: self.trouble = nil
        case .rejected, .expired: break
        }
        return nil
    }

    /// Notes outcomes that turned out wrong.
    package mutating func contradict(count: Int, upTo most: Int? = nil, tags: [PushTag], kind: Contradiction.Kind) {
        guard count > 0 else { return }
        self.contradicted += count
        guard most == nil, let last = self.contradictions.indices.last, self.contradictions[last].kind == kind,
            self.contradictions[last].upTo == self.contradictions[last].count
        else {
            self.contradictions.append(Contradiction(count: count, upTo: most, tags: tags, kind: kind))
            return
        }
        self.contradictions[last].count += count
        self.contradictions[last].upTo += count
        self.contradictions[last].tags += tags
    }

    /// Notes acceptances that rest on silence although a proof was requested.
    package mutating func leaveUnproved(_ count: Int, _ cause: Unproved.Cause) {
        guard count > 0 else { return }
        self.unproved = Unproved(count: (self.unproved?.count ?? 0) + count, cause: cause)
    }

    package mutating func takeContradictions() -> [Contradiction] {
        defer { if !self.contradictions.isEmpty { self.contradictions = [] } }
        return self.contradictions
    }

    /// Notes when notifications were written, if times are measured.
    package mutating func wrote(_ run: BatchRun) { self.times?.wrote(run) }

    /// Notes that `count` copies beyond the first were written.
    package mutating func wrote(copies count: Int) { self.resent += count }

    /// Notes that `count` written copies have not left the process, and will be written again.
    package mutating func unwrote(copies count: Int) { self.resent -= count }

    /// Notes that `count` bytes came on a connection after the peer's last message.
    package mutating func ignored(bytes count: Int) { self.strayBytes += count }

    /// Gives each notification of `run` the outcome `clean`, or `tainted` if an earlier copy of it may have arrived.
    ///
    /// - Parameter isFinal: whether the notifications are not given back, because they are too late or have lost their bytes.
    package mutating func give(_ clean: Outcome, tainted: Outcome, to run: BatchRun, isFinal: Bool = false) {
        run.forEachPart(alike: \.marks.isTainted) { part, isTainted in
            self.give(isTainted ? tainted : clean, to: part, isFinal: isFinal)
        }
    }
}

/// Notifications that were certainly not delivered, and the outcome that they get if the other side does not take them.
package struct ReturnedRun {
    package var run: BatchRun
    package var record: OutcomeRecord
}

// MARK: The log of two protocols

extension OutcomeLog {
    /// The numbers of a log at one time.
    private struct Numbers {
        var counts = OutcomeCounts()
        var awaitedLosses = 0
        var contradicted = 0
        var resent = 0
        var strayBytes = 0
        var answered = 0
    }

    /// The news that one log has for another.
    package struct News {
        package var counts: OutcomeCounts
        package var causes: OutcomeCauses
        package var contradicted: Int
        package var times: DeliveryTimes?
        /// The number of notifications so far that the peer accepted, or rejected for a fault of the notification.
        package var answered: Int
        /// The present trouble.
        package var trouble: ProviderError?
    }

    /// Moves the outcomes of `other` here, and adds the changes of its numbers since the last call. Returns these
    /// changes.
    package mutating func absorb(_ other: inout OutcomeLog) -> News {
        if self.records.isEmpty {
            swap(&self.records, &other.records)
        } else if !other.records.isEmpty {
            self.records += other.records
            other.records.removeAll(keepingCapacity: true)
        }
        if !other.awaited.isEmpty {
            self.awaited += other.awaited
            other.awaited.removeAll(keepingCapacity: true)
        }
        let news = News(
            counts: other.counts.since(other.absorbed.counts),
            causes: other.takeCauses(),
            contradicted: other.contradicted - other.absorbed.contradicted,
            times: other.times?.takeNew(),
            answered: other.answered,
            trouble: other.trouble
        )
        self.counts.add(news.counts)
        self.causes?.add(news.causes)
        self.contradicted += news.contradicted
        self.awaitedLosses += other.awaitedLosses - other.absorbed.awaitedLosses
        self.resent += other.resent - other.absorbed.resent
        self.strayBytes += other.strayBytes - other.absorbed.strayBytes
        self.answered += other.answered - other.absorbed.answered
        if let unproved = other.unproved { self.unproved = unproved }
        other.absorbed = Numbers(
            counts: other.counts,
            awaitedLosses: other.awaitedLosses,
            contradicted: other.contradicted,
            resent: other.resent,
            strayBytes: other.strayBytes,
            answered: other.answered
        )
        return news
    }

    /// Returns ``hasRequeued`` and resets it.
    package mutating func takeRequeued() -> Bool {
        defer { self.hasRequeued = false }
        return self.hasRequeued
    }

    /// Returns those of `groups` that have no notification in ``tally``.
    package mutating func settled(of groups: [Int]) -> [Int] {
        // The method is mutating, because a read of a property through a protocol would copy the log.
        guard let tally = self.tally else { return groups }
        return groups.filter { tally.isEmpty($0) }
    }

    /// Removes the notifications of a run from ``tally``, because the run leaves the side.
    package mutating func uncount(_ run: BatchRun) {
        guard self.tally != nil else { return }
        for index in 0..<run.count { self.tally?.remove(run.entries[index]) }
    }

    /// Adds the notifications of a run to ``tally``, because the run came to the side.
    package mutating func count(_ run: BatchRun) {
        guard self.tally != nil else { return }
        for index in 0..<run.count { self.tally?.add(run.entries[index]) }
    }

    /// Returns the groups that have become empty since the last call.
    package mutating func takeEmptiedGroups() -> [Int] { self.tally?.takeEmptied() ?? [] }

    /// Whether notifications were given back. The method is mutating, because a read of a property through a protocol
    /// would copy the log.
    package mutating func hasReturned() -> Bool { !self.returned.isEmpty }

    /// Removes and returns the notifications that were given back.
    package mutating func takeReturned() -> [ReturnedRun] {
        defer { if !self.returned.isEmpty { self.returned = [] } }
        return self.returned
    }

    /// Sets the trouble of this log to the first of `others` that is not nil.
    package mutating func takeTrouble(of others: ProviderError?...) {
        self.trouble = others.lazy.compactMap { $0 }.first
    }
}

extension NIODeadline {
    fileprivate var nanoseconds: Int64 { Int64(clamping: self.uptimeNanoseconds) }
}

extension Outcome {
    /// Whether the notification was certainly not delivered, and the path to the peer is the cause, not the
    /// notification.
    fileprivate var permitsAnotherWay: Bool {
        switch self {
        case .undelivered(.noConnection), .undelivered(.credentials): true
        case .rejected(let rejection): rejection.refusesProvider
        case .undelivered, .accepted, .expired, .uncertain: false
        }
    }

    /// Whether the peer accepted the notification, or rejected it for a fault of the notification.
    fileprivate var isAnswer: Bool {
        switch self {
        case .accepted: true
        case .rejected(let rejection): rejection.origin != .ferry && !rejection.refusesProvider
        case .expired, .undelivered, .uncertain: false
        }
    }

    fileprivate var isLoss: Bool {
        switch self {
        case .undelivered, .uncertain: true
        case .accepted, .rejected, .expired: false
        }
    }
}

extension Rejection {
    /// Whether APNs refused the provider and not the notification, with status 403 ("Handling notification responses
    /// from APNs", Apple).
    fileprivate var refusesProvider: Bool { self.origin == .apns && self.status == 403 }
}

extension Contradiction.Kind {
    /// Creates the kind of contradiction between `outcome` and an acceptance; nil if they agree.
    fileprivate init?(_ outcome: Outcome) {
        switch outcome {
        case .rejected(let rejection): self = .rejected(rejection)
        case .undelivered, .expired: self = .lost
        case .uncertain: self = .uncertain
        case .accepted: return nil
        }
    }
}

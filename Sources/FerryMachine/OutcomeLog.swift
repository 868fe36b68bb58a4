package import FerryCore

/// The outcomes and the counts of a provider. It gives each notification one outcome.
package struct OutcomeLog {
    /// Outcomes that were given and not yet taken, in the order in which they were given.
    package var records: [OutcomeRecord] = []
    /// The same for awaited entries.
    package var awaited: [OutcomeRecord] = []
    package private(set) var counts = OutcomeCounts()
    /// The number of awaited entries that are undelivered or uncertain. Their callers got these outcomes.
    package private(set) var awaitedLosses = 0
    /// The number of outcomes that turned out wrong.
    package private(set) var contradicted = 0
    /// The number of copies beyond the first that were written.
    package private(set) var resent = 0
    /// The acceptances that a shutdown could not prove; nil if there are none.
    package private(set) var unproved: Unproved?
    /// The number of bytes that peers sent after the last message of their connection.
    package private(set) var strayBytes = 0
    /// The trouble since the peer last accepted or rejected a notification; nil if there was none.
    package private(set) var trouble: ProviderError?
    /// The causes of the outcomes since the owner last took them. Nil: there is no observer.
    private var causes: OutcomeCauses?
    private var contradictions: [Contradiction] = []

    package init() {}

    /// Gives `outcome` to every notification of `run` that has no outcome yet.
    ///
    /// An outcome is final. If a notification already has one, a later `accepted` is ignored, and any other outcome is
    /// a contradiction. On a protocol that names notifications a second outcome never comes: it would be a fault of the
    /// machine.
    ///
    /// - Parameters:
    ///   - apnsID: the notifications' name at APNs, on a protocol that has names.
    ///   - errorCode: the code with which a request was reset.
    ///   - apnsUniqueID: the notifications' name in Apple's delivery log.
    package mutating func give(
        _ outcome: Outcome,
        to run: BatchRun,
        apnsID: APNSID? = nil,
        errorCode: HTTP2ErrorCode? = nil,
        apnsUniqueID: String? = nil
    ) {
        let entries = run.entries
        var record = OutcomeRecord(
            tag: 0,
            outcome: outcome,
            apnsID: apnsID,
            errorCode: errorCode,
            apnsUniqueID: apnsUniqueID,
            error: self.error(for: outcome)
        )
        let contradiction = Contradiction.Kind(outcome)
        var given = 0
        var contradictedCount = 0
        var contradicted: [PushTag] = []
        for index in 0..<run.count {
            let tag = PushTag(entries[index].tag)
            guard !entries[index].marks.isSettled else {
                assert(apnsID == nil, "a second outcome where each notification has a name, and so one answer")
                if contradiction != nil {
                    contradictedCount += 1
                    // An awaited notification has a tag of the provider, which means nothing to the caller.
                    if !entries[index].fields.isAwaited { contradicted.append(tag) }
                }
                continue
            }
            entries[index].marks.isSettled = true
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
        self.causes?.add(outcome, count: given)
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

    /// Notes trouble with connections, credentials or peer. Outcomes that it leads to carry it.
    package mutating func failed(_ error: ProviderError) { self.trouble = error }

    /// Returns the error that belongs to an outcome, and forgets the trouble when the outcome shows that the peer works.
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

    /// Notes acceptances that rest on silence, although proof was asked for.
    package mutating func leaveUnproved(_ count: Int, _ cause: Unproved.Cause) {
        guard count > 0 else { return }
        self.unproved = Unproved(count: (self.unproved?.count ?? 0) + count, cause: cause)
    }

    package mutating func takeContradictions() -> [Contradiction] {
        defer { if !self.contradictions.isEmpty { self.contradictions = [] } }
        return self.contradictions
    }

    /// Notes that `count` copies beyond the first were written.
    package mutating func wrote(copies count: Int) { self.resent += count }

    /// Notes that `count` copies that were written have not left, and will be written again.
    package mutating func unwrote(copies count: Int) { self.resent -= count }

    /// Notes that `count` bytes came on a connection after the peer's last word.
    package mutating func ignored(bytes count: Int) { self.strayBytes += count }

    /// Gives each notification of `run` the outcome `clean`, or `tainted` if an earlier copy of it may have arrived.
    package mutating func give(_ clean: Outcome, tainted: Outcome, to run: BatchRun) {
        var rest = run
        while rest.count > 0 {
            let isTainted = rest.entries[0].marks.isTainted
            let alike = (1..<rest.count).first { rest.entries[$0].marks.isTainted != isTainted } ?? rest.count
            self.give(isTainted ? tainted : clean, to: rest.takeFirst(alike))
        }
    }
}

extension Outcome {
    fileprivate var isLoss: Bool {
        switch self {
        case .undelivered, .uncertain: true
        case .accepted, .rejected, .expired: false
        }
    }
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

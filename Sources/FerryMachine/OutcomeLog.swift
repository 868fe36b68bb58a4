package import FerryCore

/// Gives outcomes, one to each notification, and keeps the books.
package struct OutcomeLog {
    /// Outcomes that were given and not yet taken, in the order they were given.
    package var records: [OutcomeRecord] = []
    /// The same for entries that someone awaits.
    package var awaited: [OutcomeRecord] = []
    package private(set) var counts = OutcomeCounts()
    /// How many outcomes turned out wrong.
    package private(set) var contradicted = 0
    /// How many copies beyond the first were written.
    package var resent = 0
    /// What a shutdown could not prove; nil when nothing.
    package private(set) var unproved: Unproved?
    /// How many bytes came on connections on which the peer had had its last word.
    package var strayBytes = 0
    private var contradictions: [Contradiction] = []

    package init() {}

    /// Gives `outcome` to every notification of `run` that has none yet.
    ///
    /// An outcome is final. For a notification that has one, bad news is a contradiction and anything else no news. On a
    /// wire that has names there is neither: a second outcome is a fault of the machine.
    ///
    /// - Parameters:
    ///   - apnsID: the name that APNs knows the notifications by, on a wire that has names.
    ///   - errorCode: with what a request was reset.
    ///   - apnsUniqueID: what Apple's delivery log knows the notifications by.
    package mutating func give(
        _ outcome: Outcome,
        to run: BatchRun,
        apnsID: APNSID? = nil,
        errorCode: HTTP2ErrorCode? = nil,
        apnsUniqueID: String? = nil
    ) {
        let entries = run.entries
        let contradiction = Contradiction.Kind(outcome)
        var given = 0
        var contradictedCount = 0
        var contradicted: [Tag] = []
        for index in 0..<run.count {
            let tag = Tag(entries[index].tag)
            guard !entries[index].marks.isSettled else {
                assert(apnsID == nil, "a second outcome where each notification has a name, and so one answer")
                if contradiction != nil {
                    contradictedCount += 1
                    // The tag of an awaited notification is the provider's own.
                    if !entries[index].fields.isAwaited { contradicted.append(tag) }
                }
                continue
            }
            entries[index].marks.isSettled = true
            given += 1
            let record = OutcomeRecord(
                tag: tag,
                outcome: outcome,
                apnsID: apnsID,
                errorCode: errorCode,
                apnsUniqueID: apnsUniqueID
            )
            if entries[index].fields.isAwaited { self.awaited.append(record) } else { self.records.append(record) }
        }
        self.counts.add(outcome, count: given)
        if let contradiction {
            self.contradict(count: contradictedCount, tags: contradicted, kind: contradiction)
        }
    }

    /// Notes outcomes that turned out wrong.
    package mutating func contradict(count: Int, upTo most: Int? = nil, tags: [Tag], kind: Contradiction.Kind) {
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

    /// Notes acceptances that rest on silence although proof was asked for.
    package mutating func leaveUnproved(_ count: Int, _ cause: Unproved.Cause) {
        guard count > 0 else { return }
        self.unproved = Unproved(count: (self.unproved?.count ?? 0) + count, cause: cause)
    }

    package mutating func takeContradictions() -> [Contradiction] {
        defer { if !self.contradictions.isEmpty { self.contradictions = [] } }
        return self.contradictions
    }

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

extension Contradiction.Kind {
    /// How `outcome` contradicts an acceptance; nil when it does not.
    fileprivate init?(_ outcome: Outcome) {
        switch outcome {
        case .rejected(let rejection): self = .rejected(rejection)
        case .undelivered, .expired: self = .lost
        case .uncertain: self = .uncertain
        case .accepted: return nil
        }
    }
}

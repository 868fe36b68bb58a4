internal import DequeModule
internal import FerryGateway
package import NIOCore

/// The owner of one shard in one process, from the take of the shard to the owner's end. A keeper does no I/O.
/// ``ShardLook`` says when to make a keeper.
///
/// ```
///            another has it
///   taking ───────────────────────────────────────▶ over
///      │ taken                                       ▲ ▲
///      ▼        session ended, or silent             │ │
///   owning ─────────────────────▶ coming back        │ │
///     │ │  ◀─────────────────────      │             │ │
///     │ │        still the owner       │ fenced      │ │
///     │ └──────────▶ fenced ◀──────────┘             │ │
///     │                 │ finished, all handed over  │ │
///     │                 └────────────────────────────┘ │
///     └────────────────────────────────────────────────┘
///       finished, all written
/// ```
///
/// One session of PostgreSQL holds the shard's lock, and sends the beats and every commit. When that session ends,
/// the lock is free, and the session can write nothing more. So an owner that has lost the lock cannot write segments
/// of the shard.
///
/// All times are of a clock that continues while the computer sleeps. Times of different machines are never compared.
package struct ShardKeeper: Sendable {
    private enum State {
        case taking(seen: ShardTerm)
        case owning(Owner)
        case comingBack(Absence)
        /// - Parameter beatAt: when the next beat may be sent; nil while one is under way.
        case fenced(beatAt: NIODeadline?)
        case over
    }

    private struct Owner {
        /// When the next beat is due; nil while one is under way.
        var beatAt: NIODeadline?
        /// The number of commits that must be written before the right is back.
        var missing: Int
        /// The right is not extended before this time.
        var restUntil = NIODeadline.distantPast
        var isFreeing = false
    }

    private struct Absence {
        /// When the absence began, or when PostgreSQL last answered that a session has the lock.
        var heardAt: NIODeadline
        var askAt: NIODeadline
    }

    /// The connection to PostgreSQL.
    private enum Line {
        case down(dialAt: NIODeadline)
        case dialing(ShardSession, since: NIODeadline)
        case up(ShardSession, Traffic)
    }

    private struct Traffic {
        private(set) var sent: Deque<Sent> = []
        private var waitsSince = NIODeadline.distantPast

        mutating func send(_ kind: Sent.Kind, now: NIODeadline) {
            if self.sent.isEmpty { self.waitsSince = now }
            self.sent.append(Sent(kind: kind, at: now))
        }

        mutating func answered(now: NIODeadline) -> Sent? {
            self.waitsSince = now
            return self.sent.popFirst()
        }

        /// The beginning of the present silence; nil if the session owes no answer.
        var silentSince: NIODeadline? { self.sent.isEmpty ? nil : self.waitsSince }
    }

    private struct Sent {
        enum Kind { case take, retake, append, beat, free }
        var kind: Kind
        var at: NIODeadline
    }

    /// Late segments that the gateway gets together, because a notification may be in one segment and its answer in
    /// the next.
    private struct Lot {
        static let limit = 16 << 20

        var segments: [StoredSegment] = []
        var length = 0
        var since = NIODeadline.distantPast
        /// Whether the last beat brought ``ShardBeat/limit`` new segments, and there is room for more. Then the next
        /// beat is sent at once, because more segments may be there.
        var isFollowed = false
    }

    package let shard: Int
    private let node: String
    private let away: ShardAway
    private let rules: ShardRules
    private let makeTerm: @Sendable () -> ShardTerm

    private var state: State
    private var line: Line
    private var sessions = 0
    private var dialedAt: NIODeadline
    private var epoch: UInt64 = 0
    /// The term that the take replaced, and then those under which this owner has had the shard or may have had it.
    /// The oldest terms are dropped: see ``termLimit``.
    private var terms: [ShardTerm] = []
    /// The terms of the tries to come back since this owner last had the lock. PostgreSQL may have carried out a try
    /// whose answer was lost. The term of a refused try is removed.
    private var tries: [ShardTerm] = []
    private var commits: ShardCommits
    /// The numbers of the late segments that the gateway has or gets, and has not taken over.
    private var offered: Set<UInt64> = []
    private var lot = Lot()
    private var isWanted = false
    /// Whether the gateway has ended cleanly: see ``ShardInput/finish(isClean:)``; nil while the gateway runs.
    private var finish: Bool?
    private var rightEnd = NIODeadline.distantPast
    /// The right of the last ``ShardAction/right(_:)``.
    private var right = ShardRight.none
    private var actions: [ShardAction] = []

    /// The largest number of remembered terms, and of remembered tries. Older terms are needed only if a failover
    /// loses very many come-backs or tries to come back.
    static let termLimit = 256
    /// The largest number of late segments that the gateway has and has not taken over. Each beat of an owner that is
    /// not fenced names all of them.
    static let offeredLimit = 4096

    /// - Parameters:
    ///   - shard: the number of the shard, from 0.
    ///   - seen: the term under which ``ShardLook`` saw the shard free.
    ///   - node: the name of this process. Each process must have a different name.
    package init(
        shard: Int,
        seen: ShardTerm,
        node: String,
        away: ShardAway,
        rules: ShardRules = .standard,
        makeTerm: @escaping @Sendable () -> ShardTerm = { .random() },
        now: NIODeadline
    ) {
        self.shard = shard
        self.node = node
        self.away = away
        self.rules = rules
        self.makeTerm = makeTerm
        self.state = .taking(seen: seen)
        self.line = .down(dialAt: now)
        self.dialedAt = now
        self.commits = ShardCommits(rules)
    }

    /// When ``ShardInput/timePassed`` is due; nil if no time is awaited. Pass this input once after `init`: the
    /// keeper then connects.
    package var deadline: NIODeadline? {
        var times: [NIODeadline] = []
        switch self.line {
        case .down(let dialAt):
            if self.needsLine { times.append(dialAt) }
        case .dialing:
            break
        case .up(_, let traffic):
            if case .owning(let owner) = self.state, let beatAt = owner.beatAt { times.append(beatAt) }
            if case .comingBack(let absence) = self.state, traffic.sent.isEmpty { times.append(absence.askAt) }
            if let settleAt { times.append(settleAt) }
        }
        if let silentSince { times.append(silentSince + self.rules.deadline) }
        if case .comingBack(let absence) = self.state, self.away == .serve, self.right != .fromMemory {
            times.append(max(self.rightEnd, absence.heardAt + self.rules.silence))
        }
        return times.min()
    }

    /// Whether a fenced owner has commits that are not handed over, or that a failover may still lose.
    package var mayLoseHandOver: Bool { if case .fenced = self.state { !self.commits.isEmpty } else { false } }

    /// When a fenced owner sends the beat that settles its oldest answered commit; nil while a beat is under way, or
    /// without such a commit.
    private var settleAt: NIODeadline? {
        guard case .fenced(let beatAt?) = self.state, let oldest = self.commits.oldestAnswer else { return nil }
        return max(beatAt, oldest + self.rules.settle)
    }

    /// The length of the answered commits that the owner keeps, to write them again, in bytes.
    package var ringLength: Int { self.commits.ringLength }

    private var needsLine: Bool {
        switch self.state {
        case .taking, .owning, .comingBack: true
        case .fenced: !self.commits.isEmpty
        case .over: false
        }
    }

    /// Takes an input. Returns the actions that it causes, in order. Pass the next input only after all of them are
    /// carried out.
    package mutating func handle(_ input: ShardInput, now: NIODeadline) -> [ShardAction] {
        if case .over = self.state { return [] }
        switch input {
        case .connected(let session):
            guard case .dialing(session, _) = self.line else { break }
            self.line = .up(session, Traffic())
        case .ended(let session):
            guard session == self.session else { break }
            self.lost(now: now)
        case .answered(let session, let answer):
            guard case .up(session, var traffic) = self.line, let sent = traffic.answered(now: now) else { break }
            self.line = .up(session, traffic)
            self.answered(sent, answer, now: now)
        case .commit(let commit):
            self.commits.add(commit)
        case .finish(let isClean):
            self.finish = isClean
        case .abandon:
            let mayLoseHandOver = self.mayLoseHandOver
            for number in self.commits.abandon() {
                self.actions.append(.answer(number, .unavailable("The process ends, and PostgreSQL does not answer.")))
            }
            self.end(.abandoned(mayLoseHandOver: mayLoseHandOver))
        case .timePassed:
            break
        }
        self.proceed(now: now)
        defer { self.actions = [] }
        return self.actions
    }

    // MARK: Sessions

    private var session: ShardSession? {
        switch self.line {
        case .down: nil
        case .dialing(let session, _), .up(let session, _): session
        }
    }

    private mutating func proceed(now: NIODeadline) {
        if let silentSince, silentSince + self.rules.deadline <= now { self.giveUp(now: now) }
        if case .down(let dialAt) = self.line, dialAt <= now, self.needsLine {
            self.sessions += 1
            self.dialedAt = now
            let session = ShardSession(number: self.sessions)
            self.line = .dialing(session, since: now)
            self.actions.append(.connect(session))
        }
        self.work(now: now)
        self.tellRight(now: now)
    }

    private var silentSince: NIODeadline? {
        if case .comingBack = self.state, !self.rules.returnHasDeadline { return nil }
        return switch self.line {
        case .down: nil
        case .dialing(_, let since): since
        case .up(_, let traffic): traffic.silentSince
        }
    }

    /// Ends the session without waiting for its answers.
    private mutating func giveUp(now: NIODeadline) {
        if let session { self.actions.append(.close(session)) }
        self.lost(now: now)
    }

    private mutating func lost(now: NIODeadline) {
        self.line = .down(dialAt: max(now, self.dialedAt + self.rules.retry))
        switch self.state {
        case .taking:
            self.end(.notTaken)
        case .owning:
            self.commits.rewind()
            self.state = .comingBack(Absence(heardAt: now, askAt: now))
        case .comingBack:
            self.commits.rewind()
        case .fenced:
            self.commits.rewind()
            self.state = .fenced(beatAt: now)
        case .over:
            break
        }
    }

    private mutating func end(_ ending: ShardEnding) {
        if let session { self.actions.append(.close(session)) }
        self.line = .down(dialAt: .distantFuture)
        self.state = .over
        self.tell(.none)
        self.actions.append(.over(ending))
    }

    // MARK: Statements

    /// Sends the statements that are due, or ends the keeper if the gateway has ended and no statement is left.
    private mutating func work(now: NIODeadline) {
        switch self.state {
        case .taking(let seen):
            if self.isResting { self.send(.take(seen: seen), .take, now: now) }
        case .comingBack(let absence):
            guard self.isResting, absence.askAt <= now else { break }
            let fresh = self.makeTerm()
            self.tries.append(fresh)
            if self.tries.count > Self.termLimit { self.tries.removeFirst() }
            self.send(.retake(terms: self.terms + self.tries, epoch: self.epoch, fresh: fresh), .retake, now: now)
        case .owning(var owner):
            guard case .up = self.line, let term = self.terms.last else { break }
            self.sendCommits(now: now)
            if let beatAt = owner.beatAt, beatAt <= now {
                owner.beatAt = nil
                self.send(.beat(term: term, known: self.offered), .beat, now: now)
            }
            if let finish, self.commits.isWritten, !owner.isFreeing {
                guard finish else { return self.end(.released(isFreed: false)) }
                owner.isFreeing = true
                self.send(.free(term: term), .free, now: now)
            }
            self.state = .owning(owner)
        case .fenced:
            if self.finish != nil, self.commits.isEmpty { return self.end(.handedOver) }
            guard case .up = self.line, let term = self.terms.last else { break }
            self.sendCommits(now: now)
            if let settleAt, settleAt <= now {
                self.state = .fenced(beatAt: nil)
                self.send(.beat(term: term), .beat, now: now)
            }
        case .over:
            break
        }
    }

    /// Whether the session is open and owes no answer.
    private var isResting: Bool {
        if case .up(_, let traffic) = self.line { traffic.sent.isEmpty } else { false }
    }

    private mutating func send(_ statement: ShardStatement, _ kind: Sent.Kind, now: NIODeadline) {
        guard case .up(let session, var traffic) = self.line else { return }
        traffic.send(kind, now: now)
        self.line = .up(session, traffic)
        self.actions.append(.send(statement, session))
    }

    private mutating func sendCommits(now: NIODeadline) {
        while let commit = self.commits.next() {
            self.send(.append(commit, terms: self.terms + self.tries), .append, now: now)
        }
    }

    /// Notes that the shard has this term, that of the last try. After a failover, the shard may have the term of an
    /// earlier try.
    private mutating func confirm(_ term: ShardTerm) {
        // The tries get half of the room, so that many of them do not push the owner's own terms out.
        let half = Self.termLimit / 2
        self.terms = self.terms.suffix(half) + self.tries.filter { $0 != term }.suffix(half - 1) + [term]
        self.tries = []
    }

    // MARK: Answers

    private mutating func answered(_ sent: Sent, _ answer: ShardAnswer, now: NIODeadline) {
        switch (self.state, sent.kind, answer) {
        case (.taking, .take, .taken(let taken?)):
            self.epoch = taken.epoch
            self.terms = [taken.before, taken.term]
            self.rightEnd = sent.at + self.rules.right
            self.state = .owning(Owner(beatAt: now, missing: 0))
            self.actions.append(.owns(taken))
        case (.taking, .take, .taken(nil)):
            self.end(.notTaken)

        case (.comingBack, .retake, .retaken(.owner(let term, let last))):
            self.confirm(term)
            if let last { self.commits.found(upTo: last, now: now) }
            var owner = Owner(beatAt: now, missing: self.commits.count)
            // In an absence of `grace` or more, another process may have taken the shard, and a failover may have
            // lost the take. The other process may have the right until `restUntil`.
            let absence = now - (self.rightEnd - self.rules.right)
            if absence >= self.rules.grace, self.rules.restsAfterAbsence { owner.restUntil = now + self.rules.right }
            self.state = .owning(owner)
        case (.comingBack, .retake, .retaken(.busy)):
            self.tries.removeLast()
            self.state = .comingBack(Absence(heardAt: now, askAt: now + self.rules.retry))
        case (.comingBack, .retake, .retaken(.fenced)):
            self.becomeFenced(now: now)

        case (.owning(var owner), .append, .appended(isOwner: true)):
            guard let (commit, isNew) = self.commits.answered(at: now) else { break }
            self.commits.prune(now: now)
            owner.missing = max(0, owner.missing - 1)
            self.state = .owning(owner)
            self.offered.subtract(commit.late)
            self.extendRight(owner, from: sent.at, now: now)
            if isNew { self.actions.append(.answer(commit.segment.number, .durable)) }
        case (.owning, .append, .appended(isOwner: false)):
            self.becomeFenced(now: now)
        case (.owning(var owner), .beat, .beat(let beat?)):
            self.commits.prune(now: now)
            self.extendRight(owner, from: sent.at, now: now)
            let hasMore = self.take(beat, isComplete: owner.missing == 0, now: now)
            owner.beatAt = hasMore ? now : max(now, sent.at + self.rules.beat)
            self.state = .owning(owner)
        case (.owning, .free, .freed):
            self.end(.released(isFreed: true))

        case (.fenced, .append, .appended):
            guard let (commit, isNew) = self.commits.answered(at: now) else { break }
            if isNew { self.actions.append(.answer(commit.segment.number, .fenced)) }
            if !self.rules.handsOverAgain { self.commits.settle(until: now) }
        case (.fenced, .beat, .beat):
            self.state = .fenced(beatAt: max(now, sent.at + self.rules.settle))
            self.commits.settle(until: sent.at - self.rules.settle)

        case (_, _, .failed(let reason)):
            // PostgreSQL has not carried the try out.
            if sent.kind == .retake { self.tries.removeLast() }
            self.actions.append(.trouble(reason))
            self.giveUp(now: now)
            if case .over = self.state { break }
            self.line = .down(dialAt: now + self.rules.refusedRetry)
        default:
            // This owner has lost its lock, or the answer belongs to another statement. The come-back asks who the
            // owner is.
            self.giveUp(now: now)
        }
    }

    /// Returns whether more late segments may wait, and there is room for them.
    private mutating func take(_ beat: ShardBeat, isComplete: Bool, now: NIODeadline) -> Bool {
        if let wanted = beat.wanted, wanted != self.node, !self.isWanted {
            self.isWanted = true
            self.actions.append(.wanted(by: wanted))
        }
        // Until the ring is written again, late segments that a lost commit took over seem new. So none are
        // collected.
        return isComplete && self.collect(beat.late, now: now)
    }

    private mutating func collect(_ late: [StoredSegment], now: NIODeadline) -> Bool {
        let room = max(0, Self.offeredLimit - self.offered.count)
        let new = late.prefix(room).filter { self.offered.insert($0.number).inserted }
        if self.lot.segments.isEmpty { self.lot.since = now }
        self.lot.segments += new
        self.lot.length += new.reduce(0) { $0 + $1.bytes.count }
        let isFull = self.offered.count >= Self.offeredLimit || self.lot.length >= Lot.limit
        let isSilent = new.isEmpty && !self.lot.isFollowed
        if !self.lot.segments.isEmpty, isSilent || isFull || self.lot.since + self.rules.late <= now {
            self.actions.append(.late(self.lot.segments))
            self.lot = Lot()
        }
        self.lot.isFollowed = new.count == ShardBeat.limit && self.offered.count < Self.offeredLimit
        return self.lot.isFollowed
    }

    private mutating func becomeFenced(now: NIODeadline) {
        self.state = .fenced(beatAt: now)
        self.tell(.none)
        self.actions.append(.fenced)
        // Another process has taken the shard. The next session only hands commits over.
        self.giveUp(now: now)
    }

    // MARK: The right to forward

    private mutating func extendRight(_ owner: Owner, from sentAt: NIODeadline, now: NIODeadline) {
        if owner.missing == 0, owner.restUntil <= now { self.rightEnd = max(self.rightEnd, sentAt + self.rules.right) }
    }

    private mutating func tellRight(now: NIODeadline) {
        switch self.state {
        case .owning(let owner):
            // The commits of a long absence take a while. Until they are written, a gateway that forwards from memory
            // keeps this right.
            guard self.right != .fromMemory || owner.missing == 0 else { break }
            self.tell(.until(self.rightEnd))
        case .comingBack(let absence):
            let isAway = max(self.rightEnd, absence.heardAt + self.rules.silence) <= now
            self.tell(self.away == .serve && isAway ? .fromMemory : .until(self.rightEnd))
        case .taking, .fenced, .over:
            self.tell(.none)
        }
    }

    private mutating func tell(_ right: ShardRight) {
        guard right != self.right else { return }
        self.right = right
        self.actions.append(.right(right))
    }
}

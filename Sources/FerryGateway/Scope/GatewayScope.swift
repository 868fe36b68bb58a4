internal import BasicContainers
internal import FerryCore
internal import FerryMachine
internal import HeapModule
internal import NIOCore

/// The connections of one client from one address, and the replay filter that they share.
///
/// ```
///   bytes ──▶ GatewayConnection ──▶ ReplayFilter ──▶ admit
///                    ▲                   ▲             │
///                    └───────────────────┴── result ───┘
/// ```
///
/// An input appends its effects to the caller's list. A turn is ``begin(now:)``, then inputs, then ``end(_:_:)``.
struct GatewayScope: ~Copyable {
    /// The facts from outside of the scope that an input needs.
    struct Surroundings {
        var now: Moment
        /// The state of the spool, which takes notifications that have no result yet.
        var spool: GatewayConnection.Spool
        var tellable = Tellable.everything
    }

    /// The deadline of a connection. A timer that fires too early does no harm, so most inputs set no new timer.
    private struct Timer: Comparable {
        var at: NIODeadline
        var connection: ConnectionID

        static func < (left: Timer, right: Timer) -> Bool { left.at < right.at }
    }

    let key: ReplayScope
    private(set) var filter: ReplayFilter
    private var connections = ScopeConnections()
    /// Whether a journal notes the beginnings of episodes.
    private let isStored: Bool
    private var timers = Heap<Timer>()
    /// The connections that had an input in this turn.
    private var touched: [ConnectionID] = []
    /// The connections whose only notification was rejected, while no trait of the client is known.
    private var undecided: Set<ConnectionID> = []
    /// The class and the habits at the beginning of the turn.
    private var known: (ReplayClass, SendingHabits) = (.unknown, SendingHabits())
    /// When to call ``timePassed(_:_:)``; nil if only an input can change the state.
    private(set) var nextDeadline: NIODeadline?

    init(_ key: ReplayScope, _ filter: ReplayFilter, isStored: Bool) {
        self.key = key
        self.filter = filter
        self.isStored = isStored
    }

    /// Whether a connection is open.
    var isOpen: Bool { !self.connections.all.isEmpty }

    func standing(now: Moment) -> ReplayFilter.Standing { self.filter.standing(now: now.monotonic) }

    /// The error responses that may be written; see ``ForwardingRight``. The refusal of a probe (a notification with an
    /// empty token) may be written in every case.
    enum Tellable {
        case everything
        /// Status 10, and the refusal of a probe. The new owner of the store tells all other rejections.
        case lastWords
        case nothing
    }

    /// Returns the standing for a connection. While no rejection may be told, the client counts as one that sends too
    /// many copies. While nothing may be told, the client counts as one that never repeats followers. In both cases the
    /// client's rejections are deferred, except that of a probe.
    private static func standing(
        _ standing: ReplayFilter.Standing,
        _ around: Surroundings
    ) -> ReplayFilter.Standing {
        var standing = standing
        switch around.tellable {
        case .everything: break
        case .lastWords: standing.isAmplified = true
        case .nothing: standing.replayClass = .never
        }
        return standing
    }

    /// The job of a notification; nil if its connection is closed, or does not keep the notification or its job.
    func job(of reader: Job.Reader) -> JobID? {
        guard let index = self.connections.index(of: reader.connection) else { return nil }
        return self.connections.all[index].connection.job(of: reader.sequence)
    }

    // MARK: The turn

    mutating func begin(now: Moment) {
        self.filter.today = SendingHabits.day(now.epochSeconds)
        self.known = (self.filter.replayClass, self.filter.habits)
    }

    mutating func end(_ around: Surroundings, _ effects: inout [Effect]) {
        let (replayClass, habits) = self.known
        if self.filter.habits != habits { self.lookAgain(around, &effects) }
        if self.filter.replayClass != replayClass { self.filter.classShownAt = around.now.epochSeconds }
        if self.filter.replayClass != replayClass || self.filter.habits != habits { effects.append(.learn) }
        self.setTimers(self.standing(now: around.now))
        self.nextDeadline = [self.timers.min?.at, self.filter.nextDeadline].compactMap(\.self).min()
    }

    /// Lets the undecided connections go on, after the client's habits have changed.
    private mutating func lookAgain(_ around: Surroundings, _ effects: inout [Effect]) {
        guard !self.undecided.isEmpty else { return }
        let waiting = self.undecided.sorted { $0.rawValue < $1.rawValue }
        self.undecided = []
        for id in waiting {
            self.step(id, around, &effects) { $0.timePassed(now: $1, standing: $2, effects: &$3) }
        }
    }

    private mutating func setTimers(_ standing: ReplayFilter.Standing) {
        for id in self.touched {
            guard let index = self.connections.index(of: id) else { continue }
            self.connections.all[index].isTouched = false
            guard let at = self.connections.all[index].connection.nextDeadline(standing: standing),
                at < self.connections.all[index].timer
            else { continue }
            self.connections.all[index].timer = at
            self.timers.insert(Timer(at: at, connection: id))
        }
        self.touched.removeAll(keepingCapacity: true)
    }

    // MARK: Inputs

    mutating func opened(_ connection: consuming GatewayConnection) { self.connections.append(connection) }

    mutating func sampled(_ id: ConnectionID, roundTrip: TimeAmount) {
        guard let index = self.connections.index(of: id) else { return Self.noConnection() }
        self.connections.all[index].connection.sampled(roundTrip: roundTrip)
    }

    /// Takes bytes of a client.
    ///
    /// - Parameter admit: admits a notification with the filter. The span has the bytes of the frame, and is valid
    ///   during the call.
    mutating func received(
        _ id: ConnectionID,
        _ bytes: consuming ByteBuffer,
        _ around: Surroundings,
        _ effects: inout [Effect],
        admit: (
            GatewayConnection.Offer, Span<UInt8>, inout ReplayFilter, inout [Effect]
        ) -> GatewayConnection.Admitted
    ) {
        guard let index = self.connections.index(of: id) else { return Self.noConnection() }
        let start = effects.count
        let standing = Self.standing(self.standing(now: around.now), around)
        let action = Self.received(
            &self.connections.all[index],
            &self.filter,
            bytes,
            around,
            standing,
            &effects,
            admit: admit
        )
        self.perform(action, index, around, &effects)
        self.tellRefusals(from: start, around, &effects)
    }

    /// Sets `mayHear` of the faulty notifications in this input. The value is known only after the whole input.
    private func tellRefusals(from start: Int, _ around: Surroundings, _ effects: inout [Effect]) {
        for index in effects.indices.dropFirst(start) {
            guard case .refuse(let refusal, _) = effects[index] else { continue }
            effects[index] = .refuse(refusal, mayHear: self.standing(now: around.now).mayHear)
        }
    }

    private static func received(
        _ entry: inout ScopeConnections.Entry,
        _ filter: inout ReplayFilter,
        _ bytes: consuming ByteBuffer,
        _ around: Surroundings,
        _ standing: ReplayFilter.Standing,
        _ effects: inout [Effect],
        admit: (
            GatewayConnection.Offer, Span<UInt8>, inout ReplayFilter, inout [Effect]
        ) -> GatewayConnection.Admitted
    ) -> GatewayConnection.Action {
        entry.connection.spool = around.spool
        var isJournalled = false
        let action = entry.connection.received(
            bytes,
            now: around.now.monotonic,
            standing: standing,
            effects: &effects
        ) { offer, span, effects in
            let admitted = admit(offer, span, &filter, &effects)
            isJournalled = isJournalled || admitted.isJournalled
            return admitted
        }
        if isJournalled { entry.isJournalled = true }
        return action
    }

    /// Notes the end of input or a reset.
    mutating func inputEnded(_ id: ConnectionID, _ around: Surroundings, _ effects: inout [Effect]) {
        self.step(id, around, &effects) { connection, now, _, effects in
            connection.inputEnded(now: now, effects: &effects)
        }
    }

    /// Ends a connection, with status 10 where that is safe.
    mutating func shutDown(_ id: ConnectionID, by end: NIODeadline, _ around: Surroundings, _ effects: inout [Effect]) {
        let handsOver = around.tellable == .lastWords
        self.step(id, around, &effects) {
            $0.shutDown(by: end, handsOver: handsOver, now: $1, standing: $2, effects: &$3)
        }
    }

    /// Passes the result of a job to a notification that waits for it.
    ///
    /// - Parameter standing: the standing of the client.
    /// - Returns: whether the connection tells or defers a rejection. A closed connection does neither. For a follower,
    ///   the replay filter keeps the rejection, and a copy tells it.
    mutating func settled(
        _ reader: Job.Reader,
        _ job: JobID,
        _ fate: JobFate,
        _ standing: ReplayFilter.Standing,
        _ around: Surroundings,
        _ effects: inout [Effect]
    ) -> Bool {
        guard let index = self.connections.index(of: reader.connection) else { return false }
        let isHeard = self.connections.all[index].connection.answers(for: reader.sequence)
        self.connections.all[index].connection.spool = around.spool
        let action = self.connections.all[index].connection.settled(
            reader.sequence,
            job,
            fate,
            now: around.now.monotonic,
            standing: Self.standing(standing, around),
            effects: &effects
        )
        self.perform(action, index, around, &effects)
        return isHeard
    }

    /// Notes the result of a job for copies that come later. Returns false if no copy will tell its rejection.
    mutating func settled(_ job: JobID, _ fate: JobFate) -> Bool { self.filter.settled(job, fate) }

    /// Counts a notification as accepted before its answer.
    mutating func release(_ reader: Job.Reader, _ around: Surroundings, _ effects: inout [Effect]) {
        self.step(reader.connection, around, &effects) {
            $0.release(reader.sequence, now: $1, standing: $2, effects: &$3)
        }
    }

    /// Notes that the store has the episode. The connection may have given the episode up meanwhile.
    mutating func durable(_ episode: EpisodeID, _ around: Surroundings, _ effects: inout [Effect]) {
        self.step(episode.connection, around, &effects) {
            $0.durable(episode, now: $1, standing: $2, effects: &$3)
        }
    }

    /// Passes the changed state of the store to a connection.
    mutating func look(_ id: ConnectionID, _ around: Surroundings, _ effects: inout [Effect]) {
        self.step(id, around, &effects) { $0.timePassed(now: $1, standing: $2, effects: &$3) }
    }

    /// Carries out due work. A call before ``nextDeadline`` does no harm.
    mutating func timePassed(_ around: Surroundings, _ effects: inout [Effect]) {
        self.filter.timePassed(now: around.now.monotonic, effects: &effects)
        while let timer = self.timers.min, timer.at <= around.now.monotonic {
            self.timers.removeMin()
            guard let index = self.connections.index(of: timer.connection) else { continue }
            self.connections.all[index].timer = .distantFuture
            self.step(timer.connection, around, &effects) { $0.timePassed(now: $1, standing: $2, effects: &$3) }
        }
    }

    /// Ends an episode to make room; see ``ReplayFilter/evictEpisode(_:)``.
    mutating func evictEpisode(_ effects: inout [Effect]) { self.filter.evictEpisode(&effects) }

    // MARK: An earlier process

    mutating func restore(_ habits: SendingHabits, _ replayClass: ReplayClass, shownAt: UInt32) {
        self.filter.restore(habits, replayClass, shownAt: shownAt)
        // The store already has these habits and this class, so the turn must not report them as learned.
        self.known = (self.filter.replayClass, self.filter.habits)
    }

    /// Sets whether the client repeats followers after an error response, as a reload configures it; nil if the gateway
    /// must find out.
    mutating func configure(resends: Bool?) {
        self.filter.configure(resends: resends)
        self.known = (self.filter.replayClass, self.filter.habits)
    }

    mutating func restore(
        _ episode: EpisodeID,
        _ kind: EpisodeKind,
        _ followers: [Follower],
        now: Moment,
        _ effects: inout [Effect]
    ) {
        self.filter.open(episode, kind, followers: followers, now: now.monotonic, effects: &effects)
    }

    // MARK: Actions

    private mutating func step(
        _ id: ConnectionID,
        _ around: Surroundings,
        _ effects: inout [Effect],
        _ body: (
            inout GatewayConnection, NIODeadline, ReplayFilter.Standing, inout [Effect]
        ) -> GatewayConnection.Action
    ) {
        guard let index = self.connections.index(of: id) else { return Self.noConnection() }
        self.connections.all[index].connection.spool = around.spool
        let (now, standing) = (around.now.monotonic, Self.standing(self.standing(now: around.now), around))
        let action = body(&self.connections.all[index].connection, now, standing, &effects)
        self.perform(action, index, around, &effects)
    }

    /// Fails in a debug build, because the machine knows a connection that the scope does not have.
    private static func noConnection() { assertionFailure("a connection that has a place is open in its scope") }

    /// Notes in the filter the client's traits that a connection shows.
    private static func note(_ entry: inout ScopeConnections.Entry, _ filter: inout ReplayFilter) {
        filter.note(entry.connection)
    }

    private mutating func perform(
        _ action: GatewayConnection.Action,
        _ index: Int,
        _ around: Surroundings,
        _ effects: inout [Effect]
    ) {
        let id = self.connections.all[index].connection.id
        let now = around.now.monotonic
        Self.note(&self.connections.all[index], &self.filter)
        var isClosed = false
        switch action {
        case .none:
            break
        case .journal(let episode):
            guard self.isStored else { return self.durable(episode, around, &effects) }
            self.giveUpJournalled(index, &effects)
            effects.append(.begin(episode, named: self.connections.all[index].connection.job(of: episode.sequence)))
            self.connections.all[index].isJournalled = true
            self.connections.all[index].journalled = episode
        case .tell(let telling):
            self.tell(telling, index, now: now, &effects)
        case .closeOutput:
            effects.append(.closeOutput(id))
        case .drained(let episode):
            self.filter.drained(episode, now: now, effects: &effects)
        case .close(let episode):
            if let episode { self.filter.drained(episode, now: now, effects: &effects) }
            self.filter.closed(id, now: now, effects: &effects)
            self.undecided.remove(id)
            isClosed = true
            effects.append(.close(id, isJournalled: self.connections.all[index].isJournalled))
        }
        if self.connections.all[index].connection.waitingEpisode != self.connections.all[index].journalled {
            self.giveUpJournalled(index, &effects)
        }
        guard !isClosed else { return self.connections.remove(at: index) }
        if self.connections.all[index].connection.waitsAlone, self.standing(now: around.now).mayBeSingle {
            self.undecided.insert(id)
        }
        let isReading = self.connections.all[index].connection.isReading
        if self.connections.all[index].isReading != isReading {
            self.connections.all[index].isReading = isReading
            self.filter.reads(id, isReading, now: now)
            effects.append(.read(id, isReading))
        }
        guard !self.connections.all[index].isTouched else { return }
        self.connections.all[index].isTouched = true
        self.touched.append(id)
    }

    private mutating func tell(_ telling: Telling, _ index: Int, now: NIODeadline, _ effects: inout [Effect]) {
        self.filter.open(
            telling.episode,
            telling.kind,
            named: telling.named,
            namedJob: telling.job,
            roundTrip: telling.roundTrip,
            followers: telling.followers,
            now: now,
            effects: &effects
        )
        self.connections.all[index].journalled = nil
        // The filter keeps no episode for a client of class `never`. So the journal's episode ends at once.
        if self.filter.replayClass == .never {
            effects.append(.end(telling.episode, isUnheard: false, named: nil))
        }
        effects.append(.tell(self.connections.all[index].connection.id, telling.response))
    }

    /// Notes that a journalled error response was given up.
    private mutating func giveUpJournalled(_ index: Int, _ effects: inout [Effect]) {
        guard let journalled = self.connections.all[index].journalled else { return }
        self.connections.all[index].journalled = nil
        effects.append(.giveUp(journalled))
    }
}

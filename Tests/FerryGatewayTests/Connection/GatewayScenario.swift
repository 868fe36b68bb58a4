import FerryBinary
import FerryCore
import NIOCore
import Testing

@testable import FerryGateway

/// A small gateway around the machines: the connections of one scope, its replay filter, and the jobs. A test moves
/// the time, and is client and upstream.
///
/// A notification has a name: it is the device token, and the key. The payload plays no part. Names from
/// ``constants`` on have a payload that is identical by nature.
final class GatewayScenario {
    static let constants: UInt32 = 1_000_000
    static let start = NIODeadline.uptimeNanoseconds(1_000_000_000_000)

    final class Link {
        let id: ConnectionID
        var connection: GatewayConnection
        /// What the kernel holds while the gateway does not read.
        var unread: [UInt8] = []
        var hasEnd = false

        var hasInput: Bool { !self.unread.isEmpty || self.hasEnd }

        func deadline(_ standing: ReplayFilter.Standing) -> NIODeadline {
            self.connection.nextDeadline(standing: standing) ?? .distantFuture
        }

        init(_ id: ConnectionID, spool: GatewayConnection.Spool, handshake: TimeAmount, now: NIODeadline) {
            self.id = id
            self.connection = GatewayConnection(
                id,
                decoder: NotificationDecoder(),
                spool: spool,
                handshake: handshake,
                now: now
            )
        }
    }

    struct Job {
        var name: UInt32
        var readers: [(connection: ConnectionID, sequence: UInt64)]
    }

    /// An error response as it was written.
    struct Told: Equatable {
        var connection: UInt64
        var status: BinaryStatus
        var identifier: UInt32
    }

    private struct Event {
        var at: NIODeadline
        var body: () -> Void
    }

    var filter: ReplayFilter
    private(set) var now = GatewayScenario.start
    /// The latest first; of those at the same time, the last one that was added.
    private var events: [Event] = []
    private(set) var links: [ConnectionID: Link] = [:]
    private(set) var jobs: [JobID: Job] = [:]
    /// The names of all jobs, finished ones too.
    private(set) var names: [JobID: UInt32] = [:]
    private var nextJob: UInt64 = 0
    private var nextConnection: UInt64 = 0

    var spool = GatewayConnection.Spool.open
    /// How long the journal takes.
    var journalDelay: TimeAmount = .zero
    var roundTrip: TimeAmount = .milliseconds(1)
    var handshake = TimeAmount.zero
    /// Called for each forwarded notification.
    var onForward: (JobID, UInt32) -> Void = { _, _ in }
    /// Called when an error response, or nil for a close without one, is written.
    var onLastWord: (UInt64, ErrorResponse?) -> Void = { _, _ in }
    var onClose: (UInt64) -> Void = { _ in }

    private(set) var readCount = 0
    private(set) var swallowed: [UInt32] = []
    private(set) var forwarded: [UInt32] = []
    private(set) var locallyRejected: [UInt32] = []
    private(set) var refusedCount = 0
    private(set) var accepted: [UInt32: Int] = [:]
    private(set) var listed: [UInt32] = []
    private(set) var told: [Told] = []
    private(set) var toldJobs: [JobID] = []
    private(set) var deferred: [UInt32] = []
    private(set) var released: Set<JobID> = []
    private(set) var closed: [UInt64] = []
    private(set) var outputClosed: [UInt64] = []
    private(set) var longestStop: TimeAmount = .zero
    private var effects: [Effect] = []
    /// The deferred names: their next push is rejected without a job.
    private(set) var knownBad: Set<UInt32> = []
    var usesMemo = false

    init(_ replayClass: ReplayClass = .unknown, isConfigured: Bool = false) {
        self.filter = ReplayFilter(replayClass, isConfigured: isConfigured)
    }

    // MARK: Time

    func at(_ time: NIODeadline, _ body: @escaping () -> Void) {
        let at = max(time, self.now)
        // Most events are near, so that the search begins at the end.
        var index = self.events.endIndex
        while index > 0, self.events[index - 1].at <= at { index -= 1 }
        self.events.insert(Event(at: at, body: body), at: index)
    }

    /// Lets time pass, with everything that is due.
    func wait(_ time: TimeAmount) { self.run(until: self.now + time) }

    func run(until end: NIODeadline) {
        var turns = 0
        while true {
            var next = self.events.last?.at ?? .distantFuture
            let standing = self.filter.standing(now: self.now)
            for link in self.links.values { next = min(next, link.deadline(standing)) }
            if let deadline = self.filter.nextDeadline { next = min(next, deadline) }
            guard next <= end else { break }
            turns = next > self.now ? 0 : turns + 1
            guard turns < 10_000 else {
                Issue.record("the machines do not come to rest")
                return
            }
            self.now = max(self.now, next)
            if let event = self.events.last, event.at <= self.now {
                self.events.removeLast()
                event.body()
            }
            self.filter.timePassed(now: self.now, effects: &self.effects)
            self.collect()
            let due = self.links.values.filter { $0.hasInput || $0.deadline(standing) <= self.now }
            for link in due.sorted(by: { $0.id.rawValue < $1.id.rawValue }) {
                self.act(link) { $0.timePassed(now: $1, standing: $2, effects: &$3) }
                self.read(link)
            }
        }
        self.now = max(self.now, end)
    }

    /// Opens an episode of an earlier process.
    func open(_ episode: EpisodeID, _ kind: EpisodeKind, _ followers: [Follower]) {
        self.filter.open(episode, kind, followers: followers, now: self.now, effects: &self.effects)
    }

    // MARK: The client

    func connect() -> UInt64 {
        self.nextConnection += 1
        let link = Link(
            ConnectionID(self.nextConnection),
            spool: self.spool,
            handshake: self.handshake,
            now: self.now
        )
        link.connection.sampled(roundTrip: self.roundTrip)
        self.links[link.id] = link
        return self.nextConnection
    }

    static func bytes(_ name: UInt32, _ identifier: UInt32) -> [UInt8] {
        func big(_ number: UInt32) -> [UInt8] { withUnsafeBytes(of: number.bigEndian) { Array($0) } }
        return [1] + big(identifier) + [0, 0, 0, 0] + [0, 4] + big(name) + [0, 2] + Array("{}".utf8)
    }

    /// Command 1 with an empty token and an empty payload.
    static func probe(_ identifier: UInt32) -> [UInt8] {
        [1] + withUnsafeBytes(of: identifier.bigEndian) { Array($0) } + [0, 0, 0, 0, 0, 0, 0, 0]
    }

    func push(_ name: UInt32, _ identifier: UInt32? = nil, on connection: UInt64) {
        self.send(Self.bytes(name, identifier ?? name), on: connection)
    }

    /// Sends all in one read.
    func pushAll(_ names: some Sequence<UInt32>, on connection: UInt64) {
        self.send(names.flatMap { Self.bytes($0, $0) }, on: connection)
    }

    func send(_ bytes: [UInt8], on connection: UInt64) {
        guard let link = self.links[ConnectionID(connection)] else { return }
        link.unread += bytes
        self.read(link)
    }

    /// Passes on what the kernel holds, if the gateway reads.
    private func read(_ link: Link) {
        if link.connection.isReading, !link.unread.isEmpty {
            let bytes = link.unread
            link.unread = []
            self.receive(bytes, link)
        }
        if link.hasEnd, link.unread.isEmpty {
            link.hasEnd = false
            self.act(link) { connection, now, _, effects in connection.inputEnded(now: now, effects: &effects) }
        }
    }

    private func receive(_ bytes: [UInt8], _ link: Link) {
        self.act(link) { connection, now, standing, effects in
            connection.received(
                ByteBuffer(bytes: bytes),
                now: now,
                standing: standing,
                effects: &effects
            ) { offer, span, effects in
                self.admit(offer, span, &effects)
            }
        }
    }

    func end(_ connection: UInt64) {
        guard let link = self.links[ConnectionID(connection)] else { return }
        link.hasEnd = true
        self.read(link)
    }

    /// Ends a connection with a reset, which destroys what is unread.
    func reset(_ connection: UInt64) {
        guard let link = self.links[ConnectionID(connection)] else { return }
        link.unread = []
        self.end(connection)
    }

    func shutDown(handsOver: Bool = false) {
        let end = self.now + GatewayBounds.ending
        for link in self.links.values {
            self.act(link) { $0.shutDown(by: end, handsOver: handsOver, now: $1, standing: $2, effects: &$3) }
        }
    }

    func isReading(_ connection: UInt64) -> Bool {
        self.links[ConnectionID(connection)]?.connection.isReading ?? false
    }

    // MARK: The upstream

    /// Answers all running jobs of this name.
    func answer(_ name: UInt32, _ fate: JobFate) {
        let running = self.jobs.filter { $0.value.name == name }.map(\.key)
        for job in running.sorted(by: { $0.rawValue < $1.rawValue }) { self.answer(job, fate) }
    }

    func accept(_ names: some Sequence<UInt32>) { for name in names { self.answer(name, .accepted) } }

    func reject(_ name: UInt32) { self.answer(name, .rejected(.invalidToken)) }

    func answer(_ id: JobID, _ fate: JobFate) {
        guard let job = self.jobs.removeValue(forKey: id) else { return }
        if fate == .accepted { self.accepted[job.name, default: 0] += 1 } else { self.listed.append(job.name) }
        var isHeard = self.filter.settled(id, fate)
        for reader in job.readers {
            guard let link = self.links[reader.connection] else { continue }
            if link.connection.answers(for: reader.sequence) { isHeard = true }
            self.act(link) { $0.settled(reader.sequence, id, fate, now: $1, standing: $2, effects: &$3) }
        }
        if fate != .accepted, !isHeard { self.deferRejection(job.name) }
    }

    // MARK: The owner of the machines

    private func admit(
        _ offer: GatewayConnection.Offer,
        _ span: Span<UInt8>,
        _ effects: inout [Effect]
    ) -> GatewayConnection.Admitted {
        var name: UInt32 = 0
        for index in offer.frame.token { name = name << 8 | UInt32(span[index]) }
        self.readCount += 1
        self.nextJob += 1
        let job = JobID(rawValue: self.nextJob)
        let isBad = self.usesMemo && self.knownBad.remove(name) != nil
        var follower = Follower(
            key: ReplayKey(high: 1, low: UInt64(name)),
            job: job,
            fate: isBad ? .rejected(.invalidToken) : .running,
            isConstant: name >= Self.constants,
            identifier: offer.frame.identifier
        )
        let reader = (offer.origin.connection, offer.sequence)
        switch self.filter.admit(follower, from: offer.origin, now: self.now, effects: &effects) {
        case .forward where isBad:
            self.locallyRejected.append(name)
            return .init(follower, .new)
        case .forward:
            self.forwarded.append(name)
            self.names[job] = name
            self.jobs[job] = Job(name: name, readers: [reader])
            self.at(self.now) { self.onForward(job, name) }
            return .init(follower, .new)
        case .join(let running, let fate):
            self.swallowed.append(name)
            follower.job = running
            follower.fate = fate
            self.jobs[running]?.readers.append(reader)
            return .init(follower, .copy)
        case .overtaken(let running):
            self.swallowed.append(name)
            follower.job = running
            follower.fate = .accepted
            return .init(follower, .copy)
        case .circle:
            self.swallowed.append(name)
            follower.fate = .accepted
            return .init(follower, .circling)
        }
    }

    private func act(
        _ link: Link,
        _ body: (
            inout GatewayConnection, NIODeadline, ReplayFilter.Standing, inout [Effect]
        ) -> GatewayConnection.Action
    ) {
        if let stoppedAt = link.connection.stoppedAt {
            self.longestStop = max(self.longestStop, self.now - stoppedAt)
        }
        var effects: [Effect] = []
        let action = body(&link.connection, self.now, self.filter.standing(now: self.now), &effects)
        self.effects += effects
        self.filter.note(link.connection)
        switch action {
        case .none:
            break
        case .journal(let episode):
            guard self.journalDelay > .zero else { return self.journalled(episode) }
            self.at(self.now + self.journalDelay) { self.journalled(episode) }
        case .tell(let telling):
            self.filter.open(
                telling.episode,
                telling.kind,
                named: telling.named,
                namedJob: telling.job,
                roundTrip: telling.roundTrip,
                followers: telling.followers,
                now: self.now,
                effects: &self.effects
            )
            if let job = telling.job { self.toldJobs.append(job) }
            let response = telling.response
            self.told.append(
                Told(connection: link.id.rawValue, status: response.status, identifier: response.identifier)
            )
            self.onLastWord(link.id.rawValue, response)
        case .closeOutput:
            self.outputClosed.append(link.id.rawValue)
            self.onLastWord(link.id.rawValue, nil)
        case .drained(let episode):
            self.filter.drained(episode, now: self.now, effects: &self.effects)
        case .close(let episode):
            if let episode { self.filter.drained(episode, now: self.now, effects: &self.effects) }
            self.filter.closed(link.id, now: self.now, effects: &self.effects)
            self.closed.append(link.id.rawValue)
            self.links[link.id] = nil
            self.onClose(link.id.rawValue)
        }
        if self.links[link.id] != nil {
            self.filter.reads(link.id, link.connection.isReading, now: self.now)
        }
        self.collect()
    }

    private func journalled(_ episode: EpisodeID) {
        guard let link = self.links[episode.connection] else { return }
        self.act(link) { $0.durable(episode, now: $1, standing: $2, effects: &$3) }
    }

    /// Takes what the machines cause.
    private func collect() {
        for effect in self.effects {
            switch effect {
            case .deferRejection(let job):
                if let job, let name = self.names[job] { self.deferRejection(name) }
            case .end(_, isUnheard: true, let job):
                if let job, let name = self.names[job] { self.deferRejection(name) }
            case .release(let job):
                self.released.insert(job)
            case .refuse:
                self.refusedCount += 1
                self.readCount += 1
            default:
                break
            }
        }
        self.effects = []
    }

    private func deferRejection(_ name: UInt32) {
        self.deferred.append(name)
        self.knownBad.insert(name)
    }
}

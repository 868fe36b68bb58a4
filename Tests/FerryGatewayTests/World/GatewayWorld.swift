import FerryBinary
import FerryCore
import FerryMachine
import NIOCore
import Testing

@testable import FerryGateway
@testable import FerryGatewayTestSupport

/// A gateway machine with its store, an APNs that answers as it likes, and old programs with networks between: one random
/// course. The same seed gives the same course.
///
/// ```
///   OldProgram ──▶ Wire ──▶ GatewayMachine ──▶ APNs
///                               │   ▲
///                               ▼   │
///                            MemoryStore
/// ```
final class GatewayWorld: ProgramWorld {
    /// How APNs answers. Times are in milliseconds.
    struct APNs: CustomStringConvertible {
        var times: ClosedRange<Int64> = 5...50
        /// One notification in this many takes seconds; 0: none does.
        var slowOneIn = 0
        /// One notification in this many is answered with 503, with 429, or not at all; 0: none is.
        var unavailableOneIn = 0
        var busyOneIn = 0
        var silentOneIn = 0
        /// A time in which nothing is answered, as when it cannot be reached.
        var stall: Range<Int64> = 0..<0
        /// A time in which everything is answered with 503.
        var outage: Range<Int64> = 0..<0
        /// The device tokens that it refuses.
        var bad: Set<UInt32> = []

        var description: String {
            """
            APNs \(self.times) ms, slow \(self.slowOneIn), 503 \(self.unavailableOneIn), 429 \(self.busyOneIn), silent \
            \(self.silentOneIn), stall \(self.stall), 503 \(self.outage), \(self.bad.count) bad
            """
        }
    }

    /// What the gateway has, and what happens to it.
    struct Gateway {
        /// How long the store takes for a commit, in milliseconds; nil: there is no store.
        var storeTimes: ClosedRange<Int64>?
        /// The times in milliseconds in which the store refuses every commit, and in which it does not answer.
        var storeIsFull: Range<Int64> = 0..<0
        var storeHangs: Range<Int64> = 0..<0
        var repeatsUnknown = false
    }

    let simulation = Simulation()
    var generator: SplitMix64
    var account = GatewayAccount()
    private let apns: APNs
    private let gateway: Gateway
    private let seed: UInt64
    private let store: MemoryStore?
    private(set) var machine: GatewayMachine
    /// The figures of the machines that are gone.
    private var past = GatewayTally()
    private var wires: [ConnectionID: Wire] = [:]
    /// What each connection sent: in order, and by identifier.
    private var order: [ConnectionID: [Push]] = [:]
    private var sent: [ConnectionID: [UInt32: [Push]]] = [:]
    /// The processes so far. What an older one has begun reaches nobody.
    private(set) var process = 0
    /// Whether the process was told to end.
    private var isEnding = false
    private var storeBusyUntil = Simulation.start
    private var toldAt: [ConnectionID: NIODeadline] = [:]
    private var stoppedAt: [ConnectionID: NIODeadline] = [:]
    private(set) var longestStop: TimeAmount = .zero
    /// How far the system's clock was set back, in seconds.
    private var clockLag: UInt32 = 0
    /// The first promise that was broken.
    private(set) var fault: String?

    init(seed: UInt64, _ gateway: Gateway = Gateway(), _ apns: APNs) throws {
        self.seed = seed
        self.generator = SplitMix64(seed: seed)
        self.gateway = gateway
        self.apns = apns
        self.store = gateway.storeTimes.map { _ in MemoryStore(node: seed) }
        let moment = Moment(monotonic: Simulation.start, epochSeconds: Self.startSeconds)
        self.machine = try GatewayProcess.machine(
            self.store,
            node: seed,
            repeatsUnknown: gateway.repeatsUnknown,
            now: moment,
            makeKey: Self.key
        )
    }

    private static let startSeconds: UInt32 = 1_700_000_000

    /// Unique in a test: the name, and the length of the payload.
    private static func key(_ token: ArraySlice<UInt8>, _ payload: ArraySlice<UInt8>) -> ReplayKey {
        ReplayKey(high: UInt64(payload.count), low: token.reduce(0) { $0 << 8 | UInt64($1) })
    }

    var moment: Moment {
        let seconds = (self.simulation.now - Simulation.start).nanoseconds / 1_000_000_000
        return Moment(monotonic: self.simulation.now, epochSeconds: Self.startSeconds + UInt32(seconds) - self.clockLag)
    }

    /// Sets the system's clock back at this time.
    func setClockBack(_ seconds: UInt32, after time: TimeAmount) {
        self.simulation.after(time) { self.clockLag += seconds }
    }

    // MARK: Time

    var now: NIODeadline { self.simulation.now }
    var epochSeconds: UInt32 { self.moment.epochSeconds }
    func at(_ time: NIODeadline, _ body: @escaping () -> Void) { self.simulation.at(time, body) }

    /// Lets time pass, with everything that is due.
    func run(for time: TimeAmount) {
        self.simulation.run(
            until: self.simulation.now + time,
            nextDeadline: { self.machine.nextDeadline },
            timePassed: { self.machine.timePassed(now: self.moment) },
            afterEach: self.carryOut
        )
    }

    /// The figures so far.
    var tally: GatewayTally {
        var tally = self.account.tally(bad: self.apns.bad)
        tally.told = self.past.told + self.machine.counts.told
        tally.deferred = self.past.deferred + self.machine.counts.deferred
        return tally
    }

    var faultyCourses: [String] { self.account.faultyCourses(bad: self.apns.bad) }

    /// Returns the promise that is broken at the end of a course, if any.
    func brokenPromise() -> String? {
        if let fault { return fault }
        if !self.machine.counts.isConserved { return "not conserved: \(self.machine.counts)" }
        if let sum = self.machine.figures(now: self.moment).brokenSum { return sum }
        if !self.machine.isIdle { return "\(self.machine.jobCount) jobs are not over" }
        if self.machine.connectionCount > 0 { return "\(self.machine.connectionCount) connections are open" }
        if self.longestStop > .seconds(8) { return "reading stopped for \(self.longestStop)" }
        return nil
    }

    // MARK: Kills

    /// Ends the gateway's process at this time without a word, and starts another.
    func kill(after time: TimeAmount) {
        self.simulation.after(time) {
            guard let store = self.store else { return }
            do {
                try self.start(store)
            } catch {
                Issue.record(error)
            }
        }
    }

    /// Ends the gateway's process in order, and starts another.
    func restart(after time: TimeAmount) {
        self.simulation.after(time) {
            guard self.store != nil else { return }
            self.isEnding = true
            self.machine.shutDown(now: self.moment)
            let process = self.process
            self.simulation.after(.seconds(20)) {
                guard process == self.process, let store = self.store else { return }
                do { try self.start(store) } catch { Issue.record(error) }
            }
        }
    }

    private func start(_ store: MemoryStore) throws {
        let counts = self.machine.counts
        if !counts.isConserved { self.fault = self.fault ?? "not conserved: \(counts)" }
        self.past.told += counts.told
        self.past.deferred += counts.deferred
        for wire in self.wires.values { wire.killed() }
        self.account.wasKilled()
        let recovery = try GatewayProcess.recovery(store, now: self.moment, makeKey: Self.key)
        // What has no answer goes out again, and may have arrived.
        for job in recovery.unanswered.values { self.account.allowCopy(of: Push.name(job.token)) }
        self.isEnding = false
        self.process += 1
        self.wires = [:]
        self.stoppedAt = [:]
        self.storeBusyUntil = self.simulation.now
        self.machine = try GatewayProcess.machine(
            store,
            node: self.seed,
            repeatsUnknown: self.gateway.repeatsUnknown,
            now: self.moment,
            makeKey: Self.key
        )
    }

    private func commit() {
        guard let store = self.store, let times = self.gateway.storeTimes else { return }
        for commit in self.machine.takeCommits(now: self.moment) {
            let time = TimeAmount.milliseconds(Int64.random(in: times, using: &self.generator))
            let process = self.process
            // The store keeps the order.
            self.storeBusyUntil = max(self.storeBusyUntil, self.simulation.now + time)
            if self.gateway.storeHangs.contains(self.milliseconds) {
                let end = Simulation.start + .milliseconds(self.gateway.storeHangs.upperBound)
                self.storeBusyUntil = max(self.storeBusyUntil, end)
            }
            self.simulation.at(self.storeBusyUntil) {
                guard process == self.process else { return }
                store.fail(self.gateway.storeIsFull.contains(self.milliseconds) ? "The disk is full." : nil)
                let answer = store.write(commit)
                if answer == .durable { self.noteStored(commit.segment) }
                self.machine.stored(commit.segment.number, answer, now: self.moment)
            }
        }
    }

    private func noteStored(_ segment: StoredSegment) {
        do {
            _ = try Segment.read(segment, GatewayProcess.checksum) { record in
                switch record {
                case .read(let reader, _, _, _, _, _, _, _), .copy(let reader, _, _, _, _):
                    if let push = self.order[reader.connection]?[Int(reader.sequence)] { self.account.stored(push) }
                default:
                    break
                }
            }
        } catch {
            Issue.record(error)
        }
    }

    // MARK: The gateway's owner

    private func carryOut() {
        var actions = self.machine.takeActions()
        while !actions.isEmpty {
            for action in actions { self.carryOut(action) }
            actions = self.machine.takeActions()
        }
        self.machine.withBatches(for: 0) { _, batch in
            while let next = batch.popFirst() { self.forward(next) }
        }
        self.commit()
        for event in self.machine.takeEvents() {
            guard case .refused(let refusal) = event, let token = refusal.token else { continue }
            self.account.listed(Push.name(token))
        }
    }

    private func carryOut(_ action: GatewayMachine.Action) {
        guard let wire = self.wires[action.connection] else { return }
        switch action.work {
        case .tell(let response):
            self.noteAll("(told \(response.status) \(response.identifier) on \(wire.id))")
            // An identifier that came twice would not be told.
            if response.status != .shutdown, let push = self.sent[wire.id]?[response.identifier]?.first {
                self.account.told(push)
                if !self.apns.bad.contains(push.name) { self.fault = self.fault ?? "named a good one: \(push)" }
            }
            self.toldAt[wire.id] = self.simulation.now
            wire.tell(response)
        case .closeOutput:
            wire.tell(nil)
        case .close:
            self.noteAll("(closed \(wire.id))")
            self.wires[wire.id] = nil
            self.stoppedAt[wire.id] = nil
            wire.closeByGateway(isEnding: self.isEnding)
        case .read(let isReading):
            if isReading, let since = self.stoppedAt.removeValue(forKey: wire.id) {
                self.longestStop = max(self.longestStop, self.simulation.now - since)
            } else if !isReading {
                self.stoppedAt[wire.id] = self.simulation.now
            }
            wire.isRead = isReading
        }
    }

    func isForgotten(_ wire: Wire) -> Bool {
        guard let toldAt = self.toldAt[wire.id] else { return false }
        return self.simulation.now - toldAt > GatewayBounds.unmatchedLifetime
    }

    // MARK: The programs' side

    /// Connects a program; returns nil if the gateway accepts no connections.
    func connect(_ path: Wire.Path, _ address: [UInt8], _ listener: @escaping (Wire.Word) -> Void) -> Wire? {
        // At the end, the listener is closed.
        guard !self.isEnding, self.machine.isOpen(identity: 0, now: self.moment) else { return nil }
        let id = self.machine.connected(
            identity: 0,
            address: address,
            handshake: path.handshake,
            now: self.moment
        )
        self.machine.sampled(id, roundTrip: path.transport)
        let wire = Wire(id, self, path, listener: listener)
        self.wires[id] = wire
        return wire
    }

    func written(_ push: Push, _ copy: Copy?) { self.account.written(push, isCopy: copy != nil) }
    func killed(_ push: Push) { self.account.killed(push) }
    func raced(_ push: Push) { self.account.raced(push) }
    func blamed(_ push: Push) { self.account.blamed(push) }
    func waited(_ time: TimeAmount) { self.account.waited(time) }
    func allowCopy(of name: UInt32) { self.account.allowCopy(of: name) }

    func note(_ name: UInt32, _ words: @autoclosure () -> String) {
        self.account.note(name, "\(self.milliseconds) ms \(words())")
    }

    /// Notes for every name what concerns a connection.
    func noteAll(_ words: @autoclosure () -> String) {
        guard let names = self.account.courses?.keys else { return }
        let words = words()
        for name in names { self.note(name, words) }
    }

    private var milliseconds: Int64 { (self.simulation.now - Simulation.start).nanoseconds / 1_000_000 }

    func read(_ frames: [Frame], from wire: Wire) {
        guard self.wires[wire.id] === wire else { return }
        var bytes: [UInt8] = []
        for frame in frames {
            bytes += frame.bytes
            self.account.read(frame.push)
            self.note(frame.push.name, "read on \(wire.id)")
            self.order[wire.id, default: []].append(frame.push)
            self.sent[wire.id, default: [:]][frame.identifier, default: []].append(frame.push)
        }
        // A read ends anywhere.
        let middle = Int.random(in: 0...bytes.count, using: &self.generator)
        self.machine.received(wire.id, ByteBuffer(bytes: bytes[..<middle]), now: self.moment)
        self.machine.received(wire.id, ByteBuffer(bytes: bytes[middle...]), now: self.moment)
    }

    func ended(_ wire: Wire) {
        guard self.wires[wire.id] === wire else { return }
        self.machine.inputEnded(wire.id, now: self.moment)
    }

    // MARK: APNs

    private func forward(_ submission: Submission) {
        let name = Push.name(submission.device.bytes)
        let process = self.process
        self.note(name, "forwarded as \(submission.tag.rawValue)")
        self.simulation.at(self.answerTime()) {
            let outcome = self.answer(name)
            guard process == self.process else { return }
            self.machine.settled([OutcomeRecord(tag: submission.tag, outcome: outcome)], now: self.moment)
        }
    }

    private func answerTime() -> NIODeadline {
        var time = TimeAmount.milliseconds(Int64.random(in: self.apns.times, using: &self.generator))
        if self.happens(oneIn: self.apns.slowOneIn) {
            time = .seconds(Int64.random(in: 1...6, using: &self.generator))
        }
        let at = self.simulation.now + time
        let from = Simulation.start + .milliseconds(self.apns.stall.lowerBound)
        let to = Simulation.start + .milliseconds(self.apns.stall.upperBound)
        return at >= from && at < to ? to + time : at
    }

    private func answer(_ name: UInt32) -> Outcome {
        if self.apns.outage.contains(self.milliseconds) || self.happens(oneIn: self.apns.unavailableOneIn) {
            return .rejected(Rejection(reason: .serviceUnavailable, origin: .apns, status: 503))
        }
        if self.happens(oneIn: self.apns.busyOneIn) {
            return .rejected(Rejection(reason: .tooManyRequests, origin: .apns, status: 429))
        }
        if self.apns.bad.contains(name) {
            return .rejected(Rejection(reason: .badDeviceToken, origin: .apns, status: 400))
        }
        guard self.happens(oneIn: self.apns.silentOneIn) else {
            self.account.arrived(name)
            return .accepted(.confirmed)
        }
        self.account.unknown(name, arrives: Bool.random(using: &self.generator))
        return .uncertain(.noAnswer)
    }
}

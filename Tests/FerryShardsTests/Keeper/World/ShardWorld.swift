import FerryMachine
import NIOCore

@testable import FerryGateway
@testable import FerryGatewayTestSupport
@testable import FerryShards

/// The rules of a world. A counterexample switches one of them off.
struct WorldRules {
    var keeper = ShardRules.standard
    var away = ShardAway.wait
    /// The failovers of this world lose nothing.
    var isSynchronous = false
    /// The largest number of unanswered commits of a gateway.
    var commits = 16
    /// Whether the gateways are real machines with old programs as clients, and no small models.
    var hasMachine = false
    var manners = OldProgram.Manner.ofShards

    /// S1: each take and each come-back has a random term. Otherwise the epoch is the term.
    var hasRandomTerms = true
    /// S1: the gap between two epochs is random.
    var hasRandomGaps = true
    /// S1: an owner knows every term that was its own, and the one that its take replaced. Otherwise it knows the last one.
    var knowsAllTerms = true
    /// S2: an owner that comes back asks whether another was there.
    var asksForTerm = true
    /// S3: a fenced process hands over.
    var handsOver = true
    /// S6: a gateway forwards with the right only.
    var checksRight = true
    /// S10: a fenced process closes its clients last.
    var closesLast = true
    /// S13: notifications that an owner recovers or takes over open episodes.
    var opensEpisodes = true
    /// S14: a late segment that was taken over keeps its row.
    var keepsDoneRows = true
    /// S14: an owner remembers the late segments that it took over.
    var remembersLate = true
    /// S16: the lock, the beats and the commits are one session, and no pool renews it.
    var hasOneSession = true
    /// S19: a process waits for a shard that has its own name, too.
    var everybodyWaits = true
    /// S8: PostgreSQL refuses the commits after a refused one.
    var refusesGaps = true
    /// The owner names the term of a come-back before it asks.
    var namesTerm = true
    /// A take asks for the term under which the shard was free.
    var takesSeenTerm = true
}

/// Shards, PostgreSQL, several processes with the real keeper, clients and APNs, in virtual time.
///
/// ```
///   clients ──▶ balancer ──▶ ModelProcess ──▶ APNs
///                            │ ModelOwner, one for each shard: ShardKeeper and a gateway
///                            ▼
///                  ModelLink, ModelSession ──▶ ModelPostgres
/// ```
final class ShardWorld {
    static let start = NIODeadline.uptimeNanoseconds(1_000_000_000_000)

    let rules: WorldRules
    /// The number of shards.
    let shards: Int
    private(set) var now = ShardWorld.start
    var generator: SplitMix64
    private var events = EventQueue()
    /// The lines of a trace; nil if nobody reads it.
    private(set) var trace: [String]?
    var tracesAll = false

    private(set) var processes: [ModelProcess] = []
    private(set) lazy var postgres = ModelPostgres(self, shards: self.shards)
    private(set) lazy var account = ShardAccount(self)

    convenience init(
        seed: UInt64,
        processes count: Int,
        shards: Int = 1,
        rules: WorldRules = WorldRules(),
        traces: Bool = false
    ) {
        self.init(seed: seed, names: (1...count).map { "gw\($0)" }, shards: shards, rules: rules, traces: traces)
    }

    init(seed: UInt64, names: [String], shards: Int = 1, rules: WorldRules, traces: Bool = false) {
        self.rules = rules
        self.shards = shards
        self.generator = SplitMix64(seed: seed)
        self.trace = traces ? [] : nil
        for name in names { self.processes.append(ModelProcess(self, name: name)) }
        for process in self.processes {
            process.set(clock: .seconds(Int64(self.number(0...100_000))))
            process.start()
        }
    }

    func note(_ text: @autoclosure () -> String) {
        guard self.trace != nil else { return }
        let milliseconds = (self.now - Self.start).nanoseconds / 1_000_000
        self.trace?.append("\(milliseconds) \(text())")
    }

    // MARK: Chance

    func number(_ range: ClosedRange<Int>) -> Int { Int.random(in: range, using: &self.generator) }
    func time(_ range: ClosedRange<Int64>) -> TimeAmount {
        .microseconds(Int64.random(in: range, using: &self.generator))
    }
    func random() -> UInt64 { self.generator.next() }
    func term() -> ShardTerm { ShardTerm(String(self.random(), radix: 16)) }

    // MARK: Time

    func at(_ time: NIODeadline, _ body: @escaping () -> Void) {
        self.events.add(max(time, self.now), body)
    }

    func after(_ time: TimeAmount, _ body: @escaping () -> Void) { self.at(self.now + time, body) }

    func run(until end: NIODeadline) {
        while let (at, body) = self.events.next(until: end) {
            self.now = at
            body()
        }
        self.now = end
    }

    /// Runs until `isDone`, which is asked each half second, or `end`.
    func run(until end: NIODeadline, or isDone: () -> Bool) {
        while self.now < end, !isDone() { self.run(until: min(end, self.now + .milliseconds(500))) }
    }

    // MARK: Clients

    /// The connections of the small models' clients: the gateway of each.
    private var connections: [ModelGateway?] = [nil, nil, nil]
    private(set) var programs: [OldProgram] = []
    /// The gateway of each connection of a program.
    var gateways: [ObjectIdentifier: (wire: Wire, gateway: MachineGateway)] = [:]

    /// Pushes notifications with these names, one each `interval`.
    func push(_ names: Range<Int>, bad: Set<Int>, every interval: TimeAmount) {
        if self.rules.hasMachine, self.programs.isEmpty { self.startPrograms() }
        for name in names {
            self.account.add(name, isBad: bad.contains(name))
            self.after(interval * (name - names.lowerBound)) {
                guard self.rules.hasMachine else { return self.push(name) }
                // Each program has one of the first pushes, which are good, so that each shard's topic is known.
                let program = name < self.programs.count ? name : self.number(0...self.programs.count - 1)
                self.programs[program].push(Push(number: name, name: UInt32(name)))
            }
        }
    }

    private func push(_ name: Int) {
        let index = self.number(0...self.connections.count - 1)
        if self.connections[index]?.isOpen != true {
            self.connections[index] = self.listener(of: 0) as? ModelGateway
        }
        guard let gateway = self.connections[index] else {
            // The balancer lets the client wait.
            return self.after(.milliseconds(200)) { self.push(name) }
        }
        gateway.process.run(after: self.time(100...2000), on: .clients) { gateway.read(name) }
    }

    /// The gateway that the balancer finds.
    func listener(of shard: Int) -> (any WorldGateway)? {
        self.processes.lazy.compactMap { $0.listener(of: shard) }.first
    }

    /// Two programs for each shard.
    private func startPrograms() {
        for number in 0..<2 * self.shards {
            var path = Wire.Path()
            path.roundTrip = self.time(1000...200_000)
            let manner = self.rules.manners[self.number(0...self.rules.manners.count - 1)]
            self.programs.append(OldProgram(self, manner, path, address: [192, 0, 2, UInt8(number)]))
        }
    }

    // MARK: APNs

    /// Until then, APNs takes no request.
    var stalledUntil = ShardWorld.start
    /// The process that schedules call the owner.
    var firstOwner: Int?

    func send(_ name: Int, of gateway: ModelGateway, _ job: UInt64) {
        let isBad = self.account.isBad(name)
        gateway.process.run(after: self.time(10_000...300_000), on: .upstream) { gateway.answered(job, isBad: isBad) }
    }
}

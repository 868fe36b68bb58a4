internal import FerryBinary
internal import FerryCore
internal import FerryMachine
internal import FerryTesting
internal import NIOCore

/// The other end of a connection of the client machine, without I/O.
protocol Peer {
    mutating func opened(at now: Duration) -> [ReplayAction]
    mutating func received(_ bytes: [UInt8], at now: Duration) throws -> [ReplayAction]
    mutating func receivedEnd(at now: Duration) throws -> [ReplayAction]
    mutating func timePassed(at now: Duration) -> [ReplayAction]
}

/// Ferry's client machine and its peers, with simulated time. The simulated kernel takes all bytes, and the peer's TCP
/// acknowledges them at once.
///
/// The notifications are sent at the times of the plan. The peer is either a transcript or a gateway that is recorded.
struct ClientRehearsal<Connection: Peer>: ~Copyable {
    private struct Link {
        var peer: Connection
        var sent: UInt64 = 0
        var wakes: [Duration] = []
        var hasEnded = false
    }

    let plan: ClientPlan
    private let makePeer: (Int) throws -> Connection
    /// Called with each event of the client.
    private let observe: (Transcript.Event) -> Void
    private var client: BinaryClient
    private var links: [ConnectionID: Link] = [:]
    private var connections: [ConnectionID: Int] = [:]
    private let start = NIODeadline.uptimeNanoseconds(1_000_000_000_000)
    private var now: Duration = .zero
    private(set) var outcomes: [Int: [Outcome]] = [:]
    private(set) var contradicted = 0

    init(
        _ plan: ClientPlan,
        observe: @escaping (Transcript.Event) -> Void = { _ in },
        makePeer: @escaping (Int) throws -> Connection
    ) {
        self.plan = plan
        self.makePeer = makePeer
        self.observe = observe
        self.client = BinaryClient(options: plan.options, seed: 1)
    }

    private var moment: Moment {
        Moment(
            monotonic: self.start + TimeAmount(self.now),
            epochSeconds: 1_700_000_000 + UInt32(self.now.components.seconds)
        )
    }

    /// Runs until all steps of the plan have happened, all notifications have their outcomes and no wake-up is due, or
    /// until `limit`.
    ///
    /// - Throws: the error of a peer, or ``Stuck``.
    mutating func run(limit: Duration = .seconds(36_000)) throws {
        var steps = self.plan.steps[...]
        while self.now < limit {
            while let step = steps.first, step.time <= self.now {
                steps.removeFirst()
                switch step.kind {
                case .submit(let names): self.client.submit(try self.plan.run(of: names), now: self.moment)
                case .shutDown(let proof): self.client.shutDown(proof: proof, now: self.moment)
                }
            }
            repeat { try self.settleAccounts() } while try self.write()
            let isDone = steps.isEmpty && (self.client.isShuttingDown ? self.client.isFinished : self.client.isSettled)
            let wake = self.links.values.flatMap(\.wakes).min()
            if isDone, wake == nil { return try self.settleAccounts() }
            let deadline = self.client.nextDeadline.map { Duration($0 - self.start) }
            let next = [steps.first?.time, isDone ? nil : deadline, wake].compactMap { $0 }.min()
            guard let next else { throw Stuck(at: self.now) }
            self.now = max(self.now, next)
            try self.pass()
        }
        throw Stuck(at: self.now)
    }

    /// The error of a rehearsal that cannot go on: a notification has no outcome, and no event is due.
    struct Stuck: Error { var at: Duration }

    private mutating func pass() throws {
        for id in self.links.keys.sorted(by: { $0.rawValue < $1.rawValue }) {
            guard var link = self.links[id], link.wakes.contains(where: { $0 <= self.now }) else { continue }
            link.wakes.removeAll { $0 <= self.now }
            let actions = link.peer.timePassed(at: self.now)
            self.links[id] = link
            try self.perform(actions, id)
        }
        if let deadline = self.client.nextDeadline, deadline <= self.moment.monotonic {
            self.client.tick(now: self.moment)
            try self.settleAccounts()
        }
    }

    /// Writes pending bytes. Returns whether there were any.
    private mutating func write() throws -> Bool {
        var hasWritten = false
        for id in self.links.keys.sorted(by: { $0.rawValue < $1.rawValue }) {
            var buffer = ByteBuffer()
            while self.links[id] != nil, self.client.write(id, into: &buffer, atMost: 1 << 16, now: self.moment) {
                guard var link = self.links[id] else { break }
                hasWritten = true
                link.sent += UInt64(buffer.readableBytes)
                self.client.flushed(id, at: link.sent, now: self.moment)
                let bytes = Array(buffer.readableBytesView)
                buffer.clear()
                self.note(.bytes(bytes), id)
                let actions = try link.peer.received(bytes, at: self.now)
                self.links[id] = link
                try self.perform(actions, id)
                try self.settleAccounts()
            }
        }
        return hasWritten
    }

    private mutating func perform(_ actions: [ReplayAction], _ id: ConnectionID) throws {
        for action in actions {
            guard let link = self.links[id], !link.hasEnded else { return }
            switch action {
            case .send(let bytes):
                self.client.received(id, ByteBuffer(bytes: bytes), handed: link.sent, now: self.moment)
                try self.settleAccounts()
            case .halfClose, .end:
                try self.end(id, .endOfStream)
            case .reset:
                try self.end(id, .lost(ProviderError(.connectionLost, "reset")))
            case .wake(let time):
                self.links[id]?.wakes.append(time)
            }
        }
    }

    private mutating func end(_ id: ConnectionID, _ end: ConnectionEnd) throws {
        guard let link = self.links[id] else { return }
        self.links[id]?.hasEnded = true
        self.client.ended(id, end, handed: link.sent, now: self.moment)
        try self.leave(id)
        try self.settleAccounts()
    }

    /// Removes a connection that the client has left. The peer sees the end.
    private mutating func leave(_ id: ConnectionID) throws {
        guard var link = self.links.removeValue(forKey: id) else { return }
        self.note(.end, id)
        _ = try link.peer.receivedEnd(at: self.now)
    }

    private mutating func settleAccounts() throws {
        var actions = self.client.takeSteps()
        while !actions.isEmpty {
            for action in actions { try self.carryOut(action) }
            actions = self.client.takeSteps()
        }
        for record in self.client.outcomes.records {
            self.outcomes[Int(record.tag.rawValue), default: []].append(record.outcome)
        }
        self.client.outcomes.records.removeAll()
        for case .contradicted(let contradiction) in self.client.takeEvents() {
            self.contradicted += contradiction.count
        }
    }

    private mutating func carryOut(_ action: ConnectionStep) throws {
        switch action {
        case .dial(let id):
            let number = self.connections.count + 1
            self.connections[id] = number
            var link = Link(peer: try self.makePeer(number))
            let actions = link.peer.opened(at: self.now)
            self.links[id] = link
            self.note(.open, id)
            self.client.connected(id, now: self.moment)
            try self.perform(actions, id)
        case .close(let id):
            try self.leave(id)
        case .finish(let id):
            guard var link = self.links[id] else { return }
            self.note(.halfClose, id)
            let actions = try link.peer.receivedEnd(at: self.now)
            self.links[id] = link
            try self.perform(actions, id)
        case .sample(let id):
            guard let link = self.links[id] else { return }
            let sample = TransportSample(acknowledged: link.sent, handed: link.sent, hasUnread: false, isWritable: true)
            self.client.sampled(id, sample, now: self.moment)
        case .refused:
            break
        }
    }

    private func note(_ kind: Transcript.Kind, _ id: ConnectionID) {
        guard let connection = self.connections[id] else { return }
        self.observe(Transcript.Event(self.now, .client, kind, connection: connection))
    }
}

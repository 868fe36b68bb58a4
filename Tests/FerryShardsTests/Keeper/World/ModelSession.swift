import NIOCore

@testable import FerryShards

/// The network between a process and PostgreSQL. While a way is cut, its bytes wait.
final class ModelLink {
    enum Way { case up, down }

    unowned let world: ShardWorld
    private var held: [Way: [() -> Void]] = [:]

    init(_ world: ShardWorld) { self.world = world }

    func isCut(_ way: Way) -> Bool { self.held[way] != nil }
    var isWhole: Bool { self.held.isEmpty }
    func cut(_ way: Way) { if self.held[way] == nil { self.held[way] = [] } }

    func heal() {
        let held = self.held
        self.held = [:]
        for way in [Way.up, .down] { for body in held[way] ?? [] { body() } }
    }

    func send(_ way: Way, _ body: @escaping () -> Void) {
        if self.held[way] == nil { return body() }
        self.held[way]?.append(body)
    }
}

/// The client's side of a session, and its bytes on the way.
final class ModelSession {
    unowned let owner: ModelOwner
    let name: ShardSession
    private var process: ModelProcess { self.owner.process }
    private var world: ShardWorld { self.process.world }
    private var backend: Backend?
    private var isClosed = false
    /// A firewall has forgotten the session, or its server has vanished: no byte arrives.
    var isForgotten = false
    private var arrivals: [ModelLink.Way: NIODeadline] = [:]

    init(_ owner: ModelOwner, _ name: ShardSession) {
        self.owner = owner
        self.name = name
    }

    /// Carries something out at the other end, in order.
    private func travel(_ way: ModelLink.Way, _ body: @escaping () -> Void) {
        guard !self.isForgotten else { return }
        let arrival = max(self.world.now + self.world.time(100...1000), self.arrivals[way] ?? self.world.now)
        self.arrivals[way] = arrival
        self.world.at(arrival) {
            self.process.link.send(way) { if !self.isForgotten { body() } }
        }
    }

    private func toProcess(_ body: @escaping () -> Void) {
        self.travel(.down) {
            self.process.run(after: .zero, on: .session) { if !self.isClosed { body() } }
        }
    }

    func open() {
        self.travel(.up) {
            guard self.world.postgres.isUp else { return self.replyEnd() }
            self.backend = self.world.postgres.connect(self)
            self.toProcess { self.owner.feed(.connected(self.name)) }
        }
    }

    func send(_ statement: ShardStatement) {
        self.travel(.up) { self.backend?.receive(statement) }
    }

    func close() {
        self.isClosed = true
        self.travel(.up) { self.backend?.receiveEnd() }
    }

    /// The process was killed. The kernel closes the connection, if the machine lives.
    func processEnded(isMachineGone: Bool) {
        if isMachineGone { self.isForgotten = true } else { self.close() }
    }

    func reply(_ answer: ShardAnswer) { self.toProcess { self.owner.feed(.answered(self.name, answer)) } }

    func replyEnd() {
        if self.backend != nil, !self.isClosed, !self.world.rules.hasOneSession, self.world.postgres.isUp {
            // A pool renews the connection, and tells nobody.
            self.backend = self.world.postgres.connect(self)
            return
        }
        self.toProcess {
            self.isClosed = true
            self.owner.feed(.ended(self.name))
        }
    }
}

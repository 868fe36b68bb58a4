import FerryCore
import FerryWorker
import NIOCore
import Testing

struct BatchMachineTests {
    private typealias Row = BatchMachine.Row
    private typealias Write = BatchMachine.Write

    private var machine = BatchMachine(size: 2, now: .uptimeNanoseconds(0))
    private var now = NIODeadline.uptimeNanoseconds(0)

    private var heldClients: Set<Int> = []

    /// A connection is ready at once.
    private mutating func step() -> BatchMachine.Action? {
        let action = self.machine.step(now: self.now) { self.heldClients.contains($0) }
        if action == .connect { self.machine.connected(now: self.now) }
        return action
    }

    private mutating func pass(_ time: TimeAmount) { self.now = self.now + time }

    /// The rows up to number 9 that were sent and whose fate is not written.
    private var unwritten: [Int64] { (0...9).filter { self.machine.hasUnwritten($0) } }

    /// Connects, and takes rows with these numbers.
    private mutating func take(_ ids: Int64..., attempts: Int = 0) {
        while let action = self.step() {
            if action == .take { break }
            #expect(action == .connect)
        }
        self.machine.taken(
            ids.map { Row(id: $0, attempts: attempts, client: 0) },
            isTrial: false,
            now: self.now
        )
        #expect(self.step() == .send)
        #expect(self.step() == nil)
    }

    private func accepted(_ ids: Int64...) -> Write {
        var write = Write()
        write.endings = ids.map { .init(id: $0, ending: .init(.accepted, status: 200)) }
        return write
    }

    private func delayed(_ id: Int64, _ time: TimeAmount, attempts: Int16 = 1) -> Write.Delay {
        Write.Delay(id: id, by: time, attempts: attempts)
    }

    private func rejected(_ status: Int, _ reason: Reason) -> Outcome {
        .rejected(Rejection(reason: reason, origin: .apns, status: status))
    }

    @Test mutating func `A batch is written when all of its rows have an outcome`() {
        self.take(10, 11)
        #expect(self.machine.answered(1, .accepted(.confirmed))?.id == 11)
        #expect(self.step() == nil)
        #expect(self.machine.answered(0, .accepted(.confirmed))?.id == 10)
        #expect(self.step() == .write(self.accepted(10, 11), endsBatch: true))
        #expect(self.step() == nil)
        self.machine.committed(now: self.now)
        #expect(self.step() == .take)
    }

    @Test mutating func `An outcome that was not written, because its row was locked, is written again`() {
        self.take(10, 11)
        _ = self.machine.answered(0, .accepted(.confirmed))
        _ = self.machine.answered(1, .accepted(.confirmed))
        #expect(self.step() == .write(self.accepted(10, 11), endsBatch: true))
        self.machine.committed(locked: [11], now: self.now)
        #expect(self.step() == nil)
        self.pass(.milliseconds(50))
        #expect(self.step() == .write(self.accepted(11), endsBatch: false))
    }

    @Test mutating func `Rows that need not be sent are written at once`() {
        #expect(self.step() == .connect)
        #expect(self.step() == .take)
        self.machine.taken(
            [
                Row(id: 1, client: 0, fate: .done(.init(.duplicate))),
                Row(id: 2, client: nil, fate: .done(.init(.rejected, reason: "UnknownClient"))),
            ],
            isTrial: false,
            now: self.now
        )
        var write = Write()
        write.endings = [
            .init(id: 1, ending: .init(.duplicate)), .init(id: 2, ending: .init(.rejected, reason: "UnknownClient")),
        ]
        #expect(self.step() == .write(write, endsBatch: true))
    }

    @Test
    mutating func `A row without an answer after 2 s is hidden for a minute, and its answer is written when it comes`()
    {
        self.take(1, 2)
        _ = self.machine.answered(0, .accepted(.confirmed))
        self.pass(BatchMachine.writeLimit)
        #expect(self.machine.deadline == self.now)
        var write = self.accepted(1)
        write.delays = [self.delayed(2, .seconds(60), attempts: 0)]
        #expect(self.step() == .write(write, endsBatch: true))
        self.machine.committed(now: self.now)
        #expect(self.step() == .take)
        self.machine.taken([], isTrial: false, now: self.now)
        #expect(self.step() == .rollBack)
        self.machine.committed(now: self.now)
        _ = self.machine.answered(1, .accepted(.confirmed))
        self.pass(.milliseconds(50))
        #expect(self.step() == .write(self.accepted(2), endsBatch: false))
    }

    @Test mutating func `No rows are taken while a whole batch is late`() {
        self.take(1, 2)
        self.pass(BatchMachine.writeLimit)
        guard case .write = self.step() else {
            Issue.record("The batch is not written.")
            return
        }
        self.machine.committed(now: self.now)
        #expect(self.step() == nil)
        _ = self.machine.answered(0, .accepted(.confirmed))
        self.pass(.seconds(1))
        #expect(self.step() == .write(self.accepted(1), endsBatch: false))
        self.machine.committed(now: self.now)
        #expect(self.step() == .take)
    }

    @Test mutating func `The late rows of a held client leave the connection to others`() {
        self.take(1, 2)
        self.pass(BatchMachine.writeLimit)
        guard case .write = self.step() else {
            Issue.record("The batch is not written.")
            return
        }
        #expect(self.machine.unansweredClients == [0])
        self.machine.committed(now: self.now)
        self.heldClients = [0]
        #expect(self.step() == .take)
    }

    @Test mutating func `A client with one answer in a batch counts as answered`() {
        self.take(1, 2)
        _ = self.machine.answered(1, .accepted(.confirmed))
        self.pass(BatchMachine.writeLimit)
        guard case .write = self.step() else {
            Issue.record("The batch is not written.")
            return
        }
        #expect(self.machine.unansweredClients == [])
    }

    @Test mutating func `Rows that were not sent do not show that a client's APNs answers`() {
        #expect(self.step() == .connect)
        #expect(self.step() == .take)
        self.machine.taken(
            [Row(id: 1, client: 0), Row(id: 2, client: 0, fate: .done(.init(.expired)))],
            isTrial: false,
            now: self.now
        )
        #expect(self.step() == .send)
        self.pass(BatchMachine.writeLimit)
        guard case .write = self.step() else {
            Issue.record("The batch is not written.")
            return
        }
        #expect(self.machine.unansweredClients == [0])
    }

    @Test mutating func `An outcome of Ferry's own does not show that a client's APNs answers`() {
        self.take(1, 2)
        _ = self.machine.answered(0, .undelivered(.deadline))
        self.pass(BatchMachine.writeLimit)
        guard case .write = self.step() else {
            Issue.record("The batch is not written.")
            return
        }
        #expect(self.machine.unansweredClients == [0])
    }

    @Test mutating func `The time that a connection takes is not that of its first select`() {
        #expect(self.machine.step(now: self.now) { _ in false } == .connect)
        #expect(self.machine.step(now: self.now) { _ in false } == nil)
        self.pass(.seconds(3))
        self.machine.connected(now: self.now)
        #expect(self.step() == .take)
        self.pass(.seconds(1))
        self.machine.taken([Row(id: 1, client: 0)], isTrial: false, now: self.now)
        #expect(self.machine.sends)
    }

    @Test mutating func `A stop does not wait for a connection that nothing needs`() {
        #expect(self.machine.step(now: self.now) { _ in false } == .connect)
        self.machine.stop(within: .seconds(5), now: self.now)
        #expect(self.step() == .finish)
    }

    @Test mutating func `Rows of a select that took too long are not sent`() {
        #expect(self.step() == .connect)
        #expect(self.step() == .take)
        self.pass(BatchMachine.takeLimit + .nanoseconds(1))
        self.machine.taken([Row(id: 1, client: 0)], isTrial: false, now: self.now)
        #expect(!self.machine.sends)
        #expect(self.step() == .rollBack)
    }

    @Test mutating func `A row is sent within 6 s of its select, and its transaction may be silent for longer`() {
        let limit = BatchMachine.takeLimit + TimeAmount(BatchMachine.sendLimit)
        #expect(limit <= .seconds(6))
    }

    @Test mutating func `Without rows the pause doubles from 50 ms to 1 s`() {
        #expect(self.step() == .connect)
        for pause in [50, 100, 200, 400, 800, 1000, 1000] as [Int64] {
            #expect(self.step() == .take)
            self.machine.taken([], isTrial: false, now: self.now)
            #expect(self.step() == .rollBack)
            self.machine.committed(now: self.now)
            #expect(self.step() == nil)
            #expect(self.machine.deadline == self.now + .milliseconds(pause))
            self.pass(.milliseconds(pause))
        }
    }

    @Test mutating func `A trial is followed by a look for other rows at once`() {
        #expect(self.step() == .connect)
        #expect(self.step() == .take)
        self.machine.taken([], isTrial: true, now: self.now)
        #expect(self.step() == .rollBack)
        self.machine.committed(now: self.now)
        #expect(self.step() == .take)
    }

    @Test mutating func `A trial without an answer is written after 200 ms`() {
        #expect(self.step() == .connect)
        #expect(self.step() == .take)
        self.machine.taken([Row(id: 1, client: 0)], isTrial: true, now: self.now)
        #expect(self.step() == .send)
        self.pass(BatchMachine.trialLimit)
        var write = Write()
        write.delays = [self.delayed(1, .seconds(60), attempts: 0)]
        #expect(self.step() == .write(write, endsBatch: true))
    }

    @Test mutating func `A trial writes the fates of rows that need not be sent, and leaves the others as they are`() {
        #expect(self.step() == .connect)
        #expect(self.step() == .take)
        self.machine.taken(
            [
                Row(id: 1, client: 0, fate: .done(.init(.expired))), Row(id: 2, client: 0),
                Row(id: 3, client: 0, fate: .left),
            ],
            isTrial: true,
            now: self.now
        )
        #expect(self.step() == .send)
        _ = self.machine.answered(1, self.rejected(403, .topicDisallowed))
        var write = Write()
        write.endings = [.init(id: 1, ending: .init(.expired))]
        write.delays = [self.delayed(2, .seconds(60), attempts: 0)]
        #expect(self.step() == .write(write, endsBatch: true))
    }

    @Test mutating func `A late row that was not sent is hidden no longer`() {
        self.take(1)
        self.pass(BatchMachine.writeLimit)
        guard case .write = self.step() else {
            Issue.record("The batch is not written.")
            return
        }
        self.machine.committed(now: self.now)
        _ = self.machine.answered(0, .undelivered(.shutDown))
        self.pass(.seconds(1))
        var write = Write()
        write.delays = [self.delayed(1, .zero, attempts: 0)]
        #expect(self.step() == .write(write, endsBatch: false))
    }

    @Test mutating func `A busy APNs, a failed one and no connection delay a row`() {
        self.take(1, 2, attempts: 1)
        _ = self.machine.answered(0, self.rejected(503, .serviceUnavailable))
        _ = self.machine.answered(1, .undelivered(.noConnection))
        var write = Write()
        write.delays = [self.delayed(1, .seconds(20)), self.delayed(2, .seconds(2))]
        #expect(self.step() == .write(write, endsBatch: true))
    }

    @Test func `Delays double up to a cap`() {
        func delay(_ outcome: Outcome, _ attempts: Int) -> RowFate {
            RowFate(outcome, attempts: attempts, repeatsUnknown: true)
        }
        let busy = self.rejected(429, .tooManyRequests)
        #expect(delay(busy, 0) == .again(after: .seconds(10)))
        #expect(delay(busy, 3) == .again(after: .seconds(80)))
        #expect(delay(busy, 1000) == .again(after: .minutes(15)))
        #expect(delay(.undelivered(.deadline), 0) == .again(after: .seconds(1)))
        #expect(delay(.undelivered(.deadline), 1000) == .again(after: .minutes(1)))
    }

    @Test func `A push that may have arrived is sent once more, or reported`() {
        let unknown = Outcome.uncertain(.noAnswer)
        let reported = RowFate.done(.init(.uncertain, reason: "noAnswer"))
        #expect(RowFate(unknown, attempts: 0, repeatsUnknown: true) == .again(after: .seconds(1)))
        #expect(RowFate(unknown, attempts: 1, repeatsUnknown: true) == reported)
        #expect(RowFate(unknown, attempts: 0, repeatsUnknown: false) == reported)
    }

    @Test func `A refusal by APNs of credentials or topic hides the row, and Ferry's own ends it`() {
        for reason in [Reason.topicDisallowed, .invalidProviderToken, .badCertificate] {
            let outcome = self.rejected(403, reason)
            #expect(RowFate(outcome, attempts: 0, repeatsUnknown: true) == .hidden)
            #expect(ClientSign(outcome) == .refused(reason))
        }
        #expect(RowFate(.undelivered(.credentials), attempts: 0, repeatsUnknown: true) == .hidden)
        let own = Outcome.rejected(Rejection(reason: .missingTopic, origin: .ferry))
        #expect(
            RowFate(own, attempts: 0, repeatsUnknown: true) == .done(.init(.rejected, reason: "MissingTopic"))
        )
    }

    @Test mutating func `A row that was sent is unwritten until its fate is, across the end of a session`() {
        self.take(1, 2)
        #expect(self.unwritten == [1, 2])
        _ = self.machine.answered(0, .accepted(.confirmed))
        self.machine.ended(now: self.now)
        self.pass(BatchMachine.connectWaits.first)
        #expect(self.step() == .connect)
        #expect(self.step() == .write(self.accepted(1), endsBatch: false))
        #expect(self.unwritten == [1, 2])
        self.machine.committed(now: self.now)
        #expect(self.unwritten == [2])
        self.pass(.minutes(2))
        _ = self.machine.answered(1, .accepted(.confirmed))
        #expect(self.step() == .write(self.accepted(2), endsBatch: false))
        self.machine.committed(locked: [2], now: self.now)
        #expect(self.unwritten == [2])
        self.pass(.milliseconds(50))
        #expect(self.step() == .write(self.accepted(2), endsBatch: false))
        self.machine.committed(now: self.now)
        #expect(self.unwritten == [])
    }

    @Test mutating func `A row that is not sent, or is left, is not unwritten`() {
        #expect(self.step() == .connect)
        #expect(self.step() == .take)
        self.pass(BatchMachine.takeLimit + .nanoseconds(1))
        self.machine.taken([Row(id: 1, client: 0)], isTrial: false, now: self.now)
        #expect(self.unwritten == [])
        #expect(self.step() == .rollBack)
        self.machine.committed(now: self.now)
        self.pass(.milliseconds(50))
        self.take(1)
        _ = self.machine.answered(0, .undelivered(.shutDown))
        #expect(self.step() == .write(Write(), endsBatch: true))
        self.machine.committed(now: self.now)
        #expect(self.unwritten == [])
    }

    @Test mutating func `A row that another connection has sent is hidden for a minute`() {
        #expect(self.step() == .connect)
        #expect(self.step() == .take)
        self.machine.taken([Row(id: 1, client: 0, fate: .hidden)], isTrial: false, now: self.now)
        #expect(self.unwritten == [])
        var write = Write()
        write.delays = [self.delayed(1, .seconds(60), attempts: 0)]
        #expect(self.step() == .write(write, endsBatch: true))
    }

    @Test mutating func `A delay that was not written, because its row was locked, is written again`() {
        self.take(1)
        _ = self.machine.answered(0, self.rejected(503, .serviceUnavailable))
        var write = Write()
        write.delays = [self.delayed(1, .seconds(10))]
        #expect(self.step() == .write(write, endsBatch: true))
        self.machine.committed(locked: [1], now: self.now)
        #expect(self.unwritten == [1])
        self.pass(.milliseconds(50))
        #expect(self.step() == .write(write, endsBatch: false))
    }

    @Test mutating func `Rows that come after a stop are not sent`() {
        #expect(self.step() == .connect)
        #expect(self.step() == .take)
        self.machine.stop(within: .seconds(5), now: self.now)
        self.machine.taken([Row(id: 1, client: 0)], isTrial: false, now: self.now)
        #expect(self.step() == .rollBack)
    }

    @Test mutating func `Changes whose commit was not answered are made again`() {
        self.take(1, 2)
        _ = self.machine.answered(0, .accepted(.confirmed))
        _ = self.machine.answered(1, .accepted(.confirmed))
        #expect(self.step() == .write(self.accepted(1, 2), endsBatch: true))
        self.machine.ended(now: self.now)
        self.pass(BatchMachine.connectWaits.first)
        #expect(self.step() == .connect)
        #expect(self.step() == .write(self.accepted(1, 2), endsBatch: false))
    }

    @Test mutating func `PostgreSQL is tried again with growing waits`() {
        for wait in [100, 200, 400, 800, 1600, 3200, 5000, 5000] as [Int64] {
            #expect(self.step() == .connect)
            self.machine.ended(now: self.now)
            #expect(self.machine.deadline == self.now + .milliseconds(wait))
            self.pass(.milliseconds(wait))
        }
    }

    @Test mutating func `A stop waits for the answers, writes them and takes nothing more`() {
        self.take(1, 2)
        self.machine.stop(within: .seconds(5), now: self.now)
        #expect(self.step() == nil)
        _ = self.machine.answered(0, .accepted(.confirmed))
        self.pass(BatchMachine.writeLimit)
        guard case .write = self.step() else {
            Issue.record("The batch is not written.")
            return
        }
        self.machine.committed(now: self.now)
        #expect(self.step() == nil)
        _ = self.machine.answered(1, .accepted(.confirmed))
        #expect(self.step() == .write(self.accepted(2), endsBatch: false))
        self.machine.committed(now: self.now)
        #expect(self.step() == .finish)
        #expect(self.machine.deadline == nil)
    }

    @Test mutating func `At its limit, a stop writes what is known, and waits a second for the commit`() {
        self.take(1, 2)
        _ = self.machine.answered(0, .accepted(.confirmed))
        self.machine.stop(within: .milliseconds(90), now: self.now)
        #expect(self.step() == nil)
        #expect(self.machine.deadline == self.now + .milliseconds(90))
        self.pass(.milliseconds(90))
        var write = self.accepted(1)
        write.delays = [self.delayed(2, .seconds(60), attempts: 0)]
        #expect(self.step() == .write(write, endsBatch: true))
        #expect(self.step() == nil)
        #expect(self.machine.deadline == self.now + BatchMachine.lastWriteLimit)
        self.pass(BatchMachine.lastWriteLimit)
        #expect(self.step() == .finish)
    }

    @Test mutating func `A stop does not wait for PostgreSQL beyond its limit`() {
        self.take(1)
        _ = self.machine.answered(0, .accepted(.confirmed))
        self.machine.ended(now: self.now)
        self.machine.stop(within: .milliseconds(90), now: self.now)
        #expect(self.step() == nil)
        self.pass(.milliseconds(90))
        #expect(self.step() == .finish)
    }

    @Test mutating func `A stop without anything under way ends at once`() {
        #expect(self.step() == .connect)
        #expect(self.step() == .take)
        self.machine.stop(within: .seconds(5), now: self.now)
        self.machine.taken([], isTrial: false, now: self.now)
        #expect(self.step() == .rollBack)
        self.machine.committed(now: self.now)
        #expect(self.step() == .finish)
    }
}

struct HeldClientsTests {
    private let start = NIODeadline.uptimeNanoseconds(1_000_000_000)

    @Test func `A refused client is tried once a second until an answer shows that it works`() {
        var held = HeldClients()
        #expect(held.note(.refused(.topicDisallowed), of: 3, now: self.start) == .held(.refused(.topicDisallowed)))
        #expect(held.note(.refused(.topicDisallowed), of: 3, now: self.start) == nil)
        #expect(held.clients == [3])
        #expect(held.trial(now: self.start)?.client == nil)
        #expect(held.trial(now: self.start + .seconds(1))?.client == 3)
        #expect(held.trial(now: self.start + .seconds(1)) == nil)
        #expect(held.trial(now: self.start + .seconds(2))?.client == 3)
        #expect(held.note(.silent, of: 3, now: self.start) == nil)
        #expect(held.note(.works, of: 3, now: self.start) == .released)
        #expect(held.clients.isEmpty)
    }

    @Test func `A client that was held without an answer is reported again with the better reason`() {
        var held = HeldClients()
        #expect(held.note(.unanswered, of: 0, now: self.start) == .held(.unanswered))
        #expect(held.note(.unreachable, of: 0, now: self.start) == .held(.unreachable))
        #expect(held.note(.unanswered, of: 0, now: self.start) == nil)
        #expect(held.note(.refused(nil), of: 0, now: self.start) == nil)
        #expect(held.trial(now: self.start + .seconds(1))?.client == 0)
    }

    @Test func `Trials take the newest and the oldest row in turn`() {
        var held = HeldClients()
        _ = held.note(.unreachable, of: 0, now: self.start)
        let rows = (1...4).map { held.trial(now: self.start + .seconds($0))?.rows }
        #expect(rows == [.newest, .oldest, .newest, .oldest])
    }

    @Test func `After a trial with nothing to send, a batch is tried, and other clients have their turn before it`() {
        var held = HeldClients()
        for client in 0...1 { _ = held.note(.unreachable, of: client, now: self.start) }
        var now = self.start + HeldClients.trialInterval
        let first = held.trial(now: now)?.client ?? 0
        held.giveBack(first, now: now)
        #expect(held.trial(now: now) == nil)
        now = now + HeldClients.trialPause
        #expect(held.trial(now: now)?.client == 1 - first)
        now = now + HeldClients.trialPause
        let third = held.trial(now: now)
        #expect(third?.client == first && third?.rows == .batch)
        _ = held.note(.works, of: first, now: now)
        held.giveBack(first, now: now)
        #expect(held.clients == [1 - first])
    }

    @Test func `Many held clients are tried in turn, and leave the connections to others`() {
        var held = HeldClients()
        for client in 0..<10 { _ = held.note(.unreachable, of: client, now: self.start) }
        var (tried, now) = ([Int](), self.start)
        for _ in 0..<4000 {
            if let trial = held.trial(now: now) { tried.append(trial.client) }
            now = now + .milliseconds(1)
        }
        #expect(tried.count <= 16)
        #expect(Set(tried).count == 10)
    }

    @Test func `A client that is held and released all the time is reported once a minute`() {
        var held = HeldClients()
        var reports: [HeldClients.Change] = []
        for second in 0..<120 as Range<Int64> {
            for sign in [.unreachable, .works] as [ClientSign] {
                if let change = held.note(sign, of: 0, now: self.start + .seconds(second)) { reports.append(change) }
            }
        }
        #expect(reports == [.held(.unreachable), .released, .held(.unreachable), .released])
    }

    @Test func `A client that is held again within a minute, and stays so, is reported after that minute`() {
        var held = HeldClients()
        #expect(held.note(.unreachable, of: 0, now: self.start) == .held(.unreachable))
        #expect(held.note(.works, of: 0, now: self.start + .seconds(1)) == .released)
        #expect(held.note(.unreachable, of: 0, now: self.start + .seconds(2)) == nil)
        for second in 3..<60 as Range<Int64> {
            #expect(held.note(.refused(nil), of: 0, now: self.start + .seconds(second)) == nil)
        }
        #expect(held.note(.refused(nil), of: 0, now: self.start + .seconds(60)) == .held(.refused(nil)))
        #expect(held.note(.refused(nil), of: 0, now: self.start + .seconds(200)) == nil)
        #expect(held.note(.works, of: 0, now: self.start + .seconds(201)) == .released)
    }
}

import NIOCore
import Testing

@testable import FerryGateway
@testable import FerryShards

@Suite struct ShardKeeperTests {
    private static let start = NIODeadline.uptimeNanoseconds(1_000_000_000_000)
    private static let first = ShardTerm("first")
    private static let mine = ShardTerm("mine")
    private static let back = ShardTerm("back")
    private static let taken = ShardTaken(node: 7, epoch: 5, term: mine, before: first)

    /// A keeper, its clock, and its sessions.
    private struct Driver {
        var keeper: ShardKeeper
        var now = ShardKeeperTests.start
        var session = ShardSession(number: 0)

        init(away: ShardAway = .wait, makeTerm: @escaping @Sendable () -> ShardTerm = { ShardKeeperTests.back }) {
            self.keeper = ShardKeeper(
                shard: 3,
                seen: ShardKeeperTests.first,
                node: "gw1",
                away: away,
                makeTerm: makeTerm,
                now: self.now
            )
        }

        mutating func pass(_ input: ShardInput) -> [ShardAction] {
            let actions = self.keeper.handle(input, now: self.now)
            for case .connect(let session) in actions { self.session = session }
            return actions
        }

        mutating func answer(_ answer: ShardAnswer) -> [ShardAction] { self.pass(.answered(self.session, answer)) }
        mutating func connected() -> [ShardAction] { self.pass(.connected(self.session)) }

        mutating func wait(_ milliseconds: Int64) -> [ShardAction] {
            self.now = self.now + .milliseconds(milliseconds)
            return self.pass(.timePassed)
        }

        /// A keeper that owns the shard, with its first beat answered.
        static func owner(
            away: ShardAway = .wait,
            makeTerm: @escaping @Sendable () -> ShardTerm = { ShardKeeperTests.back }
        ) -> Driver {
            var driver = Driver(away: away, makeTerm: makeTerm)
            _ = driver.pass(.timePassed)
            _ = driver.connected()
            _ = driver.answer(.taken(ShardKeeperTests.taken))
            _ = driver.answer(.beat(ShardBeat()))
            return driver
        }
    }

    private static func commit(_ number: UInt64, late: [UInt64] = []) -> StoreCommit {
        var commit = StoreCommit(epoch: 5, segment: StoredSegment(number: number, bytes: [1]))
        commit.late = late
        return commit
    }

    /// The numbers of the commits that the actions send.
    private static func sent(_ actions: [ShardAction]) -> [UInt64] {
        actions.compactMap { if case .send(.append(let commit, _), _) = $0 { commit.segment.number } else { nil } }
    }

    @Test func `the owner has stopped before another process can begin`() {
        let rules = ShardRules.standard
        #expect(rules.right < rules.idle && rules.right < rules.grace)
        #expect(rules.beat < rules.right && rules.deadline <= rules.right)
    }

    @Test func `a take is asked for on a new session, and gives the right from its sending`() {
        var driver = Driver()
        #expect(driver.pass(.timePassed) == [.connect(ShardSession(number: 1))])
        #expect(driver.connected() == [.send(.take(seen: Self.first), driver.session)])
        let end = driver.now + .seconds(3)
        driver.now = driver.now + .milliseconds(40)
        let actions = driver.answer(.taken(Self.taken))
        #expect(
            actions == [.owns(Self.taken), .send(.beat(term: Self.mine), driver.session), .right(.until(end))]
        )
    }

    @Test func `a shard that another has is left`() {
        var driver = Driver()
        _ = driver.pass(.timePassed)
        _ = driver.connected()
        #expect(driver.answer(.taken(nil)) == [.close(driver.session), .over(.notTaken)])
        #expect(driver.keeper.deadline == nil)
    }

    @Test func `a beat is sent each half second, one at a time, and extends the right from its sending`() {
        var driver = Driver.owner()
        #expect(driver.wait(499) == [])
        #expect(driver.wait(1) == [.send(.beat(term: Self.mine), driver.session)])
        let end = driver.now + .seconds(3)
        #expect(driver.wait(1000) == [])
        let actions = driver.answer(.beat(ShardBeat()))
        #expect(actions == [.send(.beat(term: Self.mine), driver.session), .right(.until(end))])
    }

    @Test func `sixteen commits are under way, and are answered in their order`() {
        var driver = Driver.owner()
        let sent = (1...20).flatMap { Self.sent(driver.pass(.commit(Self.commit($0)))) }
        #expect(sent == Array(1...16))
        let actions = driver.answer(.appended(isOwner: true))
        #expect(actions.contains(.answer(1, .durable)))
        #expect(Self.sent(actions) == [17])
    }

    @Test func `an owner whose session ended comes back with all its terms, and writes old commits before new ones`() {
        var driver = Driver.owner()
        for number in 1...3 as ClosedRange<UInt64> { _ = driver.pass(.commit(Self.commit(number))) }
        _ = driver.answer(.appended(isOwner: true))
        driver.now = driver.now + .seconds(1)
        #expect(driver.pass(.ended(driver.session)) == [.connect(ShardSession(number: 2))])
        #expect(driver.pass(.commit(Self.commit(4))) == [])
        let retake = ShardStatement.retake(terms: [Self.first, Self.mine, Self.back], epoch: 5, fresh: Self.back)
        #expect(driver.connected() == [.send(retake, driver.session)])
        #expect(Self.sent(driver.answer(.retaken(.owner(Self.back, last: nil)))) == [1, 2, 3, 4])

        // The gateway has the answer to 1, and the right comes back with the last one.
        #expect(driver.answer(.appended(isOwner: true)) == [])
        #expect(driver.answer(.appended(isOwner: true)) == [.answer(2, .durable)])
        #expect(driver.answer(.appended(isOwner: true)) == [.answer(3, .durable)])
        let end = driver.now + .seconds(3)
        #expect(driver.answer(.appended(isOwner: true)) == [.answer(4, .durable), .right(.until(end))])
    }

    @Test func `an owner that comes back writes only the commits that PostgreSQL lacks`() {
        var driver = Driver.owner()
        for number in 1...4 as ClosedRange<UInt64> { _ = driver.pass(.commit(Self.commit(number))) }
        for _ in 1...3 { _ = driver.answer(.appended(isOwner: true)) }
        // PostgreSQL has the third commit, and a failover loses it at the end of the next session.
        for (last, written) in [(3, [4]), (2, [3, 4])] as [(UInt64, [UInt64])] {
            driver.now = driver.now + .seconds(1)
            _ = driver.pass(.ended(driver.session))
            _ = driver.connected()
            #expect(Self.sent(driver.answer(.retaken(.owner(Self.back, last: last)))) == written)
        }
        // It wrote the fourth, but the answer to it was lost.
        _ = driver.answer(.appended(isOwner: true))
        driver.now = driver.now + .seconds(1)
        _ = driver.pass(.ended(driver.session))
        _ = driver.connected()
        #expect(Self.sent(driver.answer(.retaken(.owner(Self.back, last: 4)))) == [4])
        #expect(driver.answer(.appended(isOwner: true)).contains(.answer(4, .durable)))
    }

    @Test func `a commit that was refused when it was written again is not passed over`() {
        var driver = Driver.owner()
        for number in 1...3 as ClosedRange<UInt64> { _ = driver.pass(.commit(Self.commit(number))) }
        for _ in 1...3 { _ = driver.answer(.appended(isOwner: true)) }
        // A failover lost all three. The server refuses the second, and writes the third.
        driver.now = driver.now + .seconds(1)
        _ = driver.pass(.ended(driver.session))
        _ = driver.connected()
        #expect(Self.sent(driver.answer(.retaken(.owner(Self.back, last: nil)))) == [1, 2, 3])
        _ = driver.answer(.appended(isOwner: true))
        _ = driver.answer(.failed("The disk is full."))
        _ = driver.wait(1000)
        _ = driver.connected()
        #expect(Self.sent(driver.answer(.retaken(.owner(Self.back, last: 3)))) == [2, 3])
    }

    @Test func `an owner knows its own terms after any number of tries without an answer`() throws {
        var driver = Driver.owner(makeTerm: { .random() })
        _ = driver.pass(.ended(driver.session))
        var retake: ShardAction?
        for _ in 0..<600 {
            if let action = driver.connected().first { retake = action }
            _ = driver.wait(3000)
        }
        guard case .send(.retake(let terms, _, let fresh), _) = try #require(retake) else {
            Issue.record("The last try asked for something else: \(String(describing: retake))")
            return
        }
        #expect(terms.count == 2 + ShardKeeper.termLimit && terms.prefix(2) == [Self.first, Self.mine])
        #expect(terms.last == fresh)

        // A failover may bring the owner's own term back after a come-back, too.
        _ = driver.connected()
        _ = driver.answer(.retaken(.owner(fresh, last: nil)))
        _ = driver.pass(.ended(driver.session))
        _ = driver.wait(500)
        guard case .send(.retake(let later, _, _), _) = try #require(driver.connected().first) else {
            Issue.record("The owner does not come back.")
            return
        }
        #expect(later.count <= ShardKeeper.termLimit + 1 && later.prefix(2) == [Self.first, Self.mine])
    }

    @Test func `a silent session is given up after three seconds, and each try to come back as well`() {
        var driver = Driver.owner()
        let old = driver.session
        _ = driver.wait(500)
        #expect(driver.wait(2999) == [])
        #expect(driver.wait(1) == [.close(old), .connect(ShardSession(number: 2))])
        // The answer of the old session comes too late.
        #expect(driver.pass(.answered(old, .beat(ShardBeat()))) == [])
        #expect(driver.wait(3000) == [.close(ShardSession(number: 2)), .connect(ShardSession(number: 3))])
        _ = driver.connected()
        #expect(driver.wait(3000) == [.close(ShardSession(number: 3)), .connect(ShardSession(number: 4))])
    }

    @Test func `while a session works through slow commits, it is not given up`() {
        var driver = Driver.owner()
        for number in 1...16 as ClosedRange<UInt64> { _ = driver.pass(.commit(Self.commit(number))) }
        for _ in 1...16 {
            #expect(!driver.wait(2500).contains(.close(driver.session)))
            _ = driver.answer(.appended(isOwner: true))
        }
    }

    @Test func `a refused connection is tried again after 200 ms, and a held lock is asked for again`() {
        var driver = Driver.owner()
        driver.now = driver.now + .seconds(1)
        _ = driver.pass(.ended(driver.session))
        #expect(driver.pass(.ended(driver.session)) == [])
        #expect(driver.wait(199) == [])
        #expect(driver.wait(1) == [.connect(ShardSession(number: 3))])
        _ = driver.connected()
        #expect(driver.answer(.retaken(.busy)) == [])
        #expect(driver.wait(199) == [])
        #expect(driver.wait(1).count == 1)
    }

    @Test func `a fenced owner forwards nothing, and hands everything over on a session without the lock`() {
        var driver = Driver.owner()
        for number in 1...2 as ClosedRange<UInt64> { _ = driver.pass(.commit(Self.commit(number))) }
        _ = driver.answer(.appended(isOwner: true))
        driver.now = driver.now + .seconds(1)
        _ = driver.pass(.ended(driver.session))
        _ = driver.connected()
        let actions = driver.answer(.retaken(.fenced))
        #expect(actions == [.right(.none), .fenced, .close(ShardSession(number: 2))])
        _ = driver.pass(.commit(Self.commit(3)))
        #expect(driver.wait(200) == [.connect(ShardSession(number: 3))])
        #expect(Self.sent(driver.connected()) == [1, 2, 3])
        #expect(driver.answer(.appended(isOwner: false)) == [])
        #expect(driver.answer(.appended(isOwner: false)) == [.answer(2, .fenced)])
        #expect(driver.answer(.appended(isOwner: false)) == [.answer(3, .fenced)])
        #expect(driver.wait(299) == [])
        #expect(driver.wait(1) == [.send(.beat(term: Self.mine), driver.session)])
        #expect(driver.answer(.beat(nil)) == [])
        #expect(driver.pass(.finish(isClean: false)) == [.close(driver.session), .over(.handedOver)])
    }

    /// An owner that is fenced, and has handed its only commit over.
    private static func fenced() -> Driver {
        var driver = Driver.owner()
        driver.now = driver.now + .seconds(1)
        _ = driver.pass(.ended(driver.session))
        _ = driver.connected()
        _ = driver.answer(.retaken(.fenced))
        _ = driver.pass(.commit(Self.commit(1)))
        _ = driver.wait(200)
        #expect(Self.sent(driver.connected()) == [1])
        #expect(driver.answer(.appended(isOwner: false)) == [.answer(1, .fenced)])
        return driver
    }

    @Test func `a fenced owner hands over again what a failover may have lost`() {
        var driver = Self.fenced()
        #expect(driver.pass(.finish(isClean: false)) == [])
        #expect(driver.wait(300) == [.send(.beat(term: Self.mine), driver.session)])
        // The failover is silent.
        #expect(driver.wait(2999) == [])
        #expect(driver.wait(1) == [.close(ShardSession(number: 3)), .connect(ShardSession(number: 4))])
        #expect(Self.sent(driver.connected()) == [1])
        #expect(driver.answer(.appended(isOwner: false)) == [])
        driver.now = driver.now + .milliseconds(200)
        #expect(driver.pass(.ended(driver.session)) == [.connect(ShardSession(number: 5))])
        #expect(Self.sent(driver.connected()) == [1])
        #expect(driver.answer(.appended(isOwner: false)) == [])
        #expect(driver.wait(300) == [.send(.beat(term: Self.mine), driver.session)])
        #expect(driver.answer(.beat(nil)) == [.close(driver.session), .over(.handedOver)])
    }

    @Test func `a beat settles only what PostgreSQL had answered long before it was sent`() {
        var driver = Self.fenced()
        _ = driver.wait(200)
        #expect(Self.sent(driver.pass(.commit(Self.commit(2)))) == [2])
        #expect(driver.answer(.appended(isOwner: false)) == [.answer(2, .fenced)])
        #expect(driver.wait(100) == [.send(.beat(term: Self.mine), driver.session)])
        driver.now = driver.now + .milliseconds(250)
        let length = driver.keeper.ringLength
        #expect(driver.answer(.beat(nil)) == [])
        #expect(driver.keeper.ringLength == length / 2)
        #expect(driver.wait(49) == [])
        #expect(driver.wait(1) == [.send(.beat(term: Self.mine), driver.session)])
        #expect(driver.answer(.beat(nil)) == [])
        #expect(driver.keeper.ringLength == 0)
    }

    @Test func `a process that ends says whether a failover may have lost what it handed over`() {
        var driver = Self.fenced()
        #expect(driver.pass(.abandon) == [.close(driver.session), .over(.abandoned(mayLoseHandOver: true))])
        driver = Self.fenced()
        _ = driver.wait(300)
        _ = driver.answer(.beat(nil))
        #expect(driver.pass(.abandon) == [.close(driver.session), .over(.abandoned(mayLoseHandOver: false))])
    }

    /// Late segments with these numbers.
    private static func late(_ numbers: ClosedRange<UInt64>, length: Int = 1) -> [StoredSegment] {
        numbers.map { StoredSegment(number: $0, bytes: [UInt8](repeating: 9, count: length)) }
    }

    /// The late segments that the actions pass on.
    private static func passed(_ actions: [ShardAction]) -> [StoredSegment] {
        actions.flatMap { action -> [StoredSegment] in if case .late(let segments) = action { segments } else { [] } }
    }

    @Test func `late segments are passed on once, together, when a beat brings no new one`() {
        var driver = Driver.owner()
        _ = driver.wait(500)
        #expect(Self.passed(driver.answer(.beat(ShardBeat(late: Self.late(90...92))))).isEmpty)
        #expect(driver.wait(500) == [.send(.beat(term: Self.mine, known: [90, 91, 92]), driver.session)])
        #expect(Self.passed(driver.answer(.beat(ShardBeat()))) == Self.late(90...92))
        _ = driver.wait(500)
        #expect(Self.passed(driver.answer(.beat(ShardBeat(late: Self.late(90...92))))).isEmpty)
    }

    @Test func `a full answer to a beat is followed by the next beat at once`() {
        var driver = Driver.owner()
        _ = driver.wait(500)
        for first in [1, 17] as [UInt64] {
            let actions = driver.answer(.beat(ShardBeat(late: Self.late(first...(first + 15)))))
            #expect(actions.contains(.send(.beat(term: Self.mine, known: Set(1...(first + 15))), driver.session)))
            #expect(Self.passed(actions).isEmpty)
        }
        let actions = driver.answer(.beat(ShardBeat(late: Self.late(33...40))))
        #expect(!actions.contains { if case .send = $0 { true } else { false } })
        _ = driver.wait(500)
        #expect(Self.passed(driver.answer(.beat(ShardBeat()))) == Self.late(1...40))
    }

    @Test func `a beat that follows a full one at once does not end a lot, because the former owner may still write`() {
        var driver = Driver.owner()
        _ = driver.wait(500)
        _ = driver.answer(.beat(ShardBeat(late: Self.late(1...16))))
        #expect(Self.passed(driver.answer(.beat(ShardBeat()))).isEmpty)
        _ = driver.wait(500)
        #expect(Self.passed(driver.answer(.beat(ShardBeat(late: Self.late(17...20))))).isEmpty)
        _ = driver.wait(500)
        #expect(Self.passed(driver.answer(.beat(ShardBeat()))) == Self.late(1...20))
    }

    @Test func `late segments that go on coming are passed on before the former owner closes its clients`() {
        let rules = ShardRules.standard
        #expect(rules.beat + rules.late + rules.beat <= GatewayBounds.Journal.handover)
        var driver = Driver.owner()
        for number in 1...2 as ClosedRange<UInt64> {
            _ = driver.wait(500)
            #expect(Self.passed(driver.answer(.beat(ShardBeat(late: Self.late(number...number))))).isEmpty)
        }
        _ = driver.wait(500)
        #expect(Self.passed(driver.answer(.beat(ShardBeat(late: Self.late(3...3))))) == Self.late(1...3))
    }

    @Test func `many late segments, or long ones, are passed on in lots`() {
        var driver = Driver.owner()
        _ = driver.wait(500)
        var passed: [StoredSegment] = []
        for first in stride(from: UInt64(1), through: 4096, by: 16) {
            #expect(passed.isEmpty)
            passed = Self.passed(driver.answer(.beat(ShardBeat(late: Self.late(first...(first + 15))))))
        }
        #expect(passed == Self.late(1...4096))
        // There is room again when the gateway has taken some over, and no beat is sent in vain before.
        _ = driver.wait(500)
        let full = driver.answer(.beat(ShardBeat(late: Self.late(5001...5016))))
        #expect(full.allSatisfy { if case .right = $0 { true } else { false } })

        var long = Driver.owner()
        _ = long.wait(500)
        let segments = Self.late(1...2, length: 8 << 20)
        #expect(Self.passed(long.answer(.beat(ShardBeat(late: segments)))) == segments)
    }

    @Test func `while old commits are written again, late segments that a lost commit took over are not told again`() {
        let late = [StoredSegment(number: 90, bytes: [9])]
        var driver = Driver.owner()
        _ = driver.wait(500)
        _ = driver.answer(.beat(ShardBeat(late: late)))
        _ = driver.wait(500)
        _ = driver.answer(.beat(ShardBeat()))
        for number in 1...20 as ClosedRange<UInt64> {
            _ = driver.pass(.commit(Self.commit(number, late: number == 20 ? [90] : [])))
            _ = driver.answer(.appended(isOwner: true))
        }
        // A failover has lost all of them.
        _ = driver.pass(.ended(driver.session))
        _ = driver.connected()
        _ = driver.answer(.retaken(.owner(Self.back, last: nil)))
        for _ in 1...16 { _ = driver.answer(.appended(isOwner: true)) }
        #expect(driver.answer(.beat(ShardBeat(late: late))) == [])
    }

    @Test func `a node that is wanted by name is told once, and frees the shard when all is written`() {
        var driver = Driver.owner()
        _ = driver.wait(500)
        #expect(driver.answer(.beat(ShardBeat(wanted: "gw2"))).contains(.wanted(by: "gw2")))
        _ = driver.wait(500)
        #expect(!driver.answer(.beat(ShardBeat(wanted: "gw2"))).contains(.wanted(by: "gw2")))
        _ = driver.pass(.commit(Self.commit(1)))
        #expect(driver.pass(.finish(isClean: true)) == [])
        let actions = driver.answer(.appended(isOwner: true))
        #expect(actions.contains(.send(.free(term: Self.mine), driver.session)))
        #expect(
            driver.answer(.freed) == [.close(driver.session), .right(.none), .over(.released(isFreed: true))]
        )
    }

    @Test func `an owner with something unresolved in flight does not free the shard`() {
        var driver = Driver.owner()
        let actions = driver.pass(.finish(isClean: false))
        #expect(actions == [.close(driver.session), .right(.none), .over(.released(isFreed: false))])
    }

    @Test func `a process that ends first answers what nobody has written`() {
        var driver = Driver.owner()
        _ = driver.pass(.commit(Self.commit(1)))
        let numbers = driver.pass(.abandon).compactMap { if case .answer(let number, _) = $0 { number } else { nil } }
        #expect(numbers == [1])
        #expect(driver.keeper.deadline == nil)
    }

    @Test func `serve: without PostgreSQL the owner forwards from memory, but not while PostgreSQL answers`() {
        var driver = Driver.owner(away: .serve)
        driver.now = driver.now + .milliseconds(200)
        _ = driver.pass(.ended(driver.session))
        _ = driver.connected()
        for _ in 1...19 {
            #expect(!driver.answer(.retaken(.busy)).contains(.right(.fromMemory)))
            #expect(!driver.wait(200).contains(.right(.fromMemory)))
        }
        #expect(!driver.pass(.ended(driver.session)).contains(.right(.fromMemory)))
        #expect(driver.wait(1000).contains(.right(.fromMemory)))

        var waiting = Driver.owner()
        _ = waiting.pass(.ended(waiting.session))
        #expect(!waiting.wait(60_000).contains(.right(.fromMemory)))
    }

    @Test func `serve: an owner that is back forwards from memory until PostgreSQL has its old commits`() {
        var driver = Driver.owner(away: .serve)
        _ = driver.pass(.ended(driver.session))
        #expect(driver.wait(3500).contains(.right(.fromMemory)))
        for number in 1...3 as ClosedRange<UInt64> { _ = driver.pass(.commit(Self.commit(number))) }
        _ = driver.connected()
        #expect(Self.sent(driver.answer(.retaken(.owner(Self.back, last: nil)))) == [1, 2, 3])
        _ = driver.pass(.commit(Self.commit(4)))
        for _ in 1...2 { #expect(driver.answer(.appended(isOwner: true)).allSatisfy { !$0.isRight }) }
        #expect(driver.answer(.appended(isOwner: true)).contains { $0.isRight && $0 != .right(.fromMemory) })
    }

    @Test func `a refused statement is told, and the owner comes back after a second`() {
        var driver = Driver.owner()
        driver.now = driver.now + .milliseconds(300)
        _ = driver.pass(.commit(Self.commit(1)))
        let actions = driver.answer(.failed("The disk is full."))
        #expect(actions == [.trouble("The disk is full."), .close(ShardSession(number: 1))])
        #expect(driver.wait(999) == [])
        #expect(driver.wait(1) == [.connect(ShardSession(number: 2))])
    }

    @Test func `the ring is bounded by time and by length`() {
        var rules = ShardRules()
        rules.ringLength = 10
        var commits = ShardCommits(rules)
        for number in 1...30 as ClosedRange<UInt64> {
            commits.add(Self.commit(number))
            _ = commits.next()
            _ = commits.answered(at: Self.start)
            commits.prune(now: Self.start)
        }
        #expect(commits.ringLength == 10)
        commits.prune(now: Self.start + .seconds(10))
        #expect(commits.ringLength == 0)
    }
}

extension ShardAction {
    fileprivate var isRight: Bool { if case .right = self { true } else { false } }
}

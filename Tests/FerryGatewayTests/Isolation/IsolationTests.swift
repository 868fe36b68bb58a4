import FerryCore
import Foundation
import NIOCore
import Testing

@testable import FerryGateway

/// The refusals of one client, and the times of another. `FERRY_ISOLATION=1` runs the counts of the promise: 5,000 bad
/// tokens, and then 100,000 with one bad in three.
@Suite struct IsolationTests {
    private typealias World = IsolationWorld

    private static let isWhole = ProcessInfo.processInfo.environment["FERRY_ISOLATION"] == "1"
    private static let dead = isWhole ? 5000 : 500
    private static let mixed = isWhole ? 100_000 : 1500

    /// Bad tokens first, then one bad in three.
    private static func greedy(_ dead: Int, _ mixed: Int) -> World.Client {
        World.Client(count: dead + mixed, pause: .zero) { $0 < dead || $0 % 3 == 0 ? nil : 0 }
    }

    /// Good tokens, `rate` a second.
    private static func good(_ count: Int, rate: Int64) -> World.Client {
        World.Client(count: count, pause: .nanoseconds(1_000_000_000 / rate)) { _ in 0 }
    }

    private static let peers: [IsolationWorld.Close] = [.never, .goAway(after: 50), .wordless(after: 50)]

    /// B's worst time in a hundred while A's tokens are all good.
    private static func alone(_ close: World.Close, isWarm: Bool) -> TimeAmount {
        let all = World.Client(count: Self.dead + Self.mixed, pause: .zero) { _ in 0 }
        let world = World([all, Self.good(1500, rate: 500)], close, isWarm: isWarm)
        _ = world.run(atMost: .hours(1))
        return world.results[1].p99
    }

    @Test(arguments: peers, [true, false])
    func `a client with bad tokens delays no other, and its good ones all go out`(
        close: IsolationWorld.Close,
        isWarm: Bool
    ) {
        let world = World([Self.greedy(Self.dead, Self.mixed), Self.good(1500, rate: 500)], close, isWarm: isWarm)
        let time = world.run(atMost: .hours(6))
        let (greedy, good) = (world.results[0], world.results[1])
        #expect(good.times.count == 1500 && good.uncertain == 0 && good.deadLetters == 0)
        #expect(good.p99 <= max(.milliseconds(50), Self.alone(close, isWarm: isWarm) * 2), "\(good.p99)")
        let goodOfGreedy = (Self.dead..<Self.dead + Self.mixed).count { $0 % 3 != 0 }
        #expect(greedy.times.count >= goodOfGreedy && greedy.deadLetters == 0, "\(greedy.times.count) in \(time)")
        #expect(greedy.refused == Self.dead + Self.mixed - goodOfGreedy)
        #expect(greedy.firstAccepted ?? .hours(24) <= .seconds(60), "\(greedy.firstAccepted ?? .hours(24))")
        if case .wordless = close {} else { #expect(greedy.uncertain == 0) }
        #expect(world.machine.counts.isConserved && world.machine.counts.unanswered == 0)
        print("\(close), warm \(isWarm): \(time), first after \(greedy.firstAccepted ?? .zero), B p99 \(good.p99)")
        print("   dials \(world.dials), closes \(world.closes), uncertain \(greedy.uncertain)")
    }

    /// C37: dead tokens at 1,000 a second, others at 20 and 2 a second.
    @Test(arguments: [IsolationWorld.Close.never, .wordless(after: 100), .wordless(after: 10)])
    func `slow clients do not wait for the dead tokens of a fast one`(close: IsolationWorld.Close) {
        let dead = World.Client(count: Self.isWhole ? 4950 : 600, pause: .milliseconds(1)) { _ in nil }
        let world = World([dead, Self.good(200, rate: 20), Self.good(20, rate: 2)], close, isWarm: true)
        _ = world.run(atMost: .hours(6))
        for result in world.results.dropFirst() {
            #expect(result.p99 <= .milliseconds(90) && result.uncertain == 0, "\(result.p99)")
        }
        #expect(world.results[1].times.count == 200 && world.results[2].times.count == 20)
        #expect(world.results[0].uncertain <= 2, "\(world.results[0].uncertain)")
        // C41: a budget that learns is closed by APNs only while it learns.
        #expect(world.closes <= 3, "\(world.closes)")
    }

    /// C38: each close of the common connection costs others what is under way. So few refused tokens go over it.
    @Test(arguments: [10, 100]) func `dead tokens never close the connection that all clients share`(limit: Int) {
        let dead = World.Client(count: 600, pause: .milliseconds(1)) { _ in nil }
        let world = World([dead, Self.good(20, rate: 2)], .wordless(after: limit), isWarm: true)
        _ = world.run(atMost: .hours(6))
        #expect(world.commonCloses == 0)
        #expect(world.results[1].times.count == 20 && world.results[1].uncertain == 0)
        // Of the first four, three are answered before the client is suspicious, and each lets another one out.
        #expect(world.commonRefusals <= Credit.floor + Suspicion.refusals - 1, "\(world.commonRefusals)")
        #expect(world.results[0].refused == 600 && world.results[0].deadLetters == 0)
    }

    /// C42: five refused tokens among eight. A suspicion that waited for six would never come.
    @Test func `five refused tokens in a row do not stand on the connection that all clients share`() {
        let half = World.Client(count: 200, pause: .milliseconds(50)) { $0 % 8 < 5 ? nil : 0 }
        let world = World([half, Self.good(50, rate: 4)], .wordless(after: 5), isWarm: true)
        _ = world.run(atMost: .hours(1))
        #expect(world.commonCloses == 0)
        #expect(world.results[1].times.count == 50 && world.results[1].uncertain == 0)
        #expect(world.results[1].p99 <= .milliseconds(90), "\(world.results[1].p99)")
        #expect(world.results[0].refused == 125 && world.results[0].times.count == 75)
    }

    /// C39: a new client begins on the common connection, and does not stand behind a bad one.
    @Test func `a new client does not wait behind one with bad tokens`() {
        let dead = World.Client(count: 600, pause: .zero) { _ in nil }
        var late = Self.good(50, rate: 20)
        late.start = .seconds(3)
        let world = World([dead, late], .wordless(after: 50), isWarm: true)
        _ = world.run(atMost: .hours(1))
        #expect(world.results[1].times.allSatisfy { $0 <= .milliseconds(90) })
    }

    /// C40: a refused token in a hundred must not slow a fast client down.
    @Test(arguments: [100, 33]) func `a fast client with few bad tokens stays fast`(oneIn: Int) {
        let fast = World.Client(count: 8000, pause: .microseconds(125)) { $0 % oneIn == oneIn - 1 ? nil : 0 }
        let world = World([fast], .wordless(after: 50), isWarm: true)
        _ = world.run(atMost: .minutes(10))
        let times = world.results[0].times.sorted()
        #expect(times[times.count / 2] <= .milliseconds(100), "\(times[times.count / 2])")
        #expect(world.closes == 0)
    }

    /// C41: what is under way counts against the budget. The clients start so many milliseconds after each other.
    @Test(arguments: [60, 300, 2000]) func `ten clients with dead tokens share one budget`(stagger: Int64) {
        let clients = (0..<10).map { number in
            World.Client(
                count: Self.isWhole ? 500 : 40,
                pause: .milliseconds(5),
                topic: { _ in nil },
                start: .milliseconds(stagger * Int64(number))
            )
        }
        let world = World(clients + [Self.good(200, rate: 50)], .wordless(after: 10), isWarm: true)
        _ = world.run(atMost: .hours(6))
        #expect(world.results.reduce(0) { $0 + $1.uncertain } <= 49)
        #expect(world.results.prefix(10).allSatisfy { $0.refused == 40 && $0.deadLetters == 0 })
        #expect(world.results[10].times.count == 200 && world.results[10].uncertain == 0)
    }

    /// C43: a list that begins with bad tokens and goes on with good ones.
    @Test func `the good tokens behind a thousand dead ones go out in time`() {
        let client = World.Client(count: 2000, pause: .milliseconds(1)) { $0 < 1000 ? nil : 0 }
        let world = World([client, Self.good(100, rate: 20)], .never, isWarm: true)
        let time = world.run(atMost: .hours(1))
        #expect(world.results[0].times.count == 1000)
        #expect(time <= .seconds(60), "\(time)")
    }

    /// C44: the tokens of a second topic begin with the topic that APNs took last.
    @Test(arguments: [true, false]) func `the tokens of a second topic cost few refusals`(isWarm: Bool) {
        let second = World.Client(count: 3000, pause: .zero) { _ in 1 }
        let world = World([second], .never, isWarm: isWarm, secondTopic: true)
        let time = world.run(atMost: .hours(1))
        #expect(world.results[0].times.count == 3000 && world.results[0].refused == 0)
        #expect(time <= .seconds(5), "\(time)")
        #expect(world.refusedRequests <= Suspicion.refusals, "\(world.refusedRequests)")
    }

    /// C12: a list that begins with many bad tokens, before anything was accepted.
    @Test func `a list that begins with 5,000 bad tokens moves`() {
        let client = World.Client(count: 7000, pause: .zero) { $0 < 5000 ? nil : 0 }
        let world = World([client], .never, isWarm: false)
        _ = world.run(atMost: .hours(1))
        #expect(world.results[0].firstAccepted ?? .hours(1) <= .seconds(60))
        #expect(world.results[0].times.count == 2000)
    }

    /// C45: the connection is lost with a hundred under way.
    @Test(arguments: [true, false]) func `a lost connection costs what its client wants`(isRepeated: Bool) {
        let client = World.Client(count: 2000, pause: .milliseconds(1)) { _ in 0 }
        let world = World([client], .never, isWarm: true, repeatsUnknown: isRepeated)
        world.simulation.after(.milliseconds(1003)) { world.cut(.common(upstream: 0)) }
        _ = world.run(atMost: .minutes(10))
        let (result, counts) = (world.results[0], world.machine.counts)
        #expect(result.uncertain > 0 && result.uncertain == counts.uncertain && result.deadLetters == 0)
        #expect(result.times.count == 2000 - (isRepeated ? 0 : result.uncertain))
        #expect(counts.isConserved && counts.unanswered == 0)
    }
}

import FerryMachine
import NIOCore
import NIOEmbedded
import NIOPosix
import Synchronization
import Testing

@Suite struct MachineLoopTests {
    @Test("a call from inside a turn returns at once, and another turn follows")
    func turns() {
        let loop = MachineLoop(on: EmbeddedEventLoop())
        var log: [String] = []
        func run() {
            loop.run {
                log.append("turn")
                guard log.count < 4 else { return }
                run()
                log.append("still in the turn")
            } afterwards: {
                log.append("afterwards")
            }
        }
        run()
        #expect(log == ["turn", "still in the turn", "turn", "still in the turn", "turn", "afterwards"])
    }

    @Test("a call after the last turn has turns of its own")
    func afterwards() {
        let loop = MachineLoop(on: EmbeddedEventLoop())
        var log: [String] = []
        loop.run {
            log.append("first")
        } afterwards: {
            loop.run {
                log.append("second")
            } afterwards: {
                log.append("end of the second")
            }
            log.append("end of the first")
        }
        #expect(log == ["first", "second", "end of the second", "end of the first"])
    }

    @Test("a turn may ask for another; outside a turn that has no effect")
    func turnAgain() {
        let loop = MachineLoop(on: EmbeddedEventLoop())
        var turns = 0
        loop.turnAgain()
        loop.run {
            turns += 1
            if turns < 3 { loop.turnAgain() }
        } afterwards: {
        }
        #expect(turns == 3)
        loop.turnAgain()
        loop.run {
            turns += 1
        } afterwards: {
        }
        #expect(turns == 4)
    }

    @Test("an earlier timer stays, a later one gives way, and no timer follows the end")
    func timer() {
        let eventLoop = EmbeddedEventLoop()
        let loop = MachineLoop(on: eventLoop)
        let start = eventLoop.now
        var fired: [String] = []
        func set(_ seconds: Int64) {
            let deadline = start + .seconds(seconds)
            guard loop.needsTimer(by: deadline) else { return }
            loop.setTimer(at: deadline) { fired.append("\(seconds)") }
        }
        set(3)
        set(5)
        set(2)
        eventLoop.advanceTime(by: .seconds(4))
        #expect(fired == ["2"])
        set(6)
        loop.stopTimer()
        eventLoop.advanceTime(by: .seconds(4))
        #expect(fired == ["2"])
        set(9)
        loop.end()
        set(10)
        eventLoop.advanceTime(by: .seconds(4))
        #expect(fired == ["2"])
    }

    @Test("after the end nothing is executed")
    func execute() {
        let eventLoop = EmbeddedEventLoop()
        let loop = MachineLoop(on: eventLoop)
        let calls = Atomic(0)
        loop.execute { calls.add(1, ordering: .relaxed) }
        eventLoop.run()
        loop.end()
        loop.execute { calls.add(1, ordering: .relaxed) }
        eventLoop.run()
        #expect(calls.load(ordering: .relaxed) == 1)
        #expect(loop.isOver)
        #expect(!loop.hasLoopEnded)
    }

    @Test("the end of the event loop is told once, unless the driver is over")
    func loopEnds() async throws {
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let (watched, over) = (MachineLoop(on: group.next()), MachineLoop(on: group.next()))
        let ends = Atomic(0)
        try await group.next().submit {
            watched.watchEnd { ends.add(1, ordering: .relaxed) }
            over.watchEnd { ends.add(10, ordering: .relaxed) }
            over.end()
        }.get()
        #expect(ends.load(ordering: .relaxed) == 0)
        try await group.shutdownGracefully()
        #expect(ends.load(ordering: .relaxed) == 1)
        #expect(watched.hasLoopEnded)
        #expect(!over.hasLoopEnded)
        #expect(!watched.needsTimer(by: .now()))
    }

    @Test("an event loop that has ended before is told inside the call")
    func endedBefore() async throws {
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let loop = MachineLoop(on: group.next())
        try await group.shutdownGracefully()
        let ends = Atomic(0)
        loop.watchEnd { ends.add(1, ordering: .relaxed) }
        #expect(ends.load(ordering: .relaxed) == 1)
        #expect(loop.hasLoopEnded)
    }
}

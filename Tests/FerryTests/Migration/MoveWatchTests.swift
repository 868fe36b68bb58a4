import Testing

@testable import Ferry

struct MoveWatchTests {
    @Test func `a move is told once, when the devices of all loops have moved`() {
        let watch = MoveWatch(loopCount: 2)
        watch.ruleChanged(to: 1)
        #expect(watch.take(1, on: 0))
        watch.moved()
        #expect(!watch.turnEnded(on: 0, isMoving: false))
        // The other loop has the rule, and is in the middle of the turn that finds out what moves.
        #expect(watch.take(1, on: 1))
        #expect(!watch.turnEnded(on: 0, isMoving: false))
        #expect(!watch.turnEnded(on: 1, isMoving: true))
        #expect(!watch.turnEnded(on: 0, isMoving: false))
        watch.moved()
        #expect(watch.turnEnded(on: 1, isMoving: false))
        #expect(!watch.turnEnded(on: 0, isMoving: false))
    }

    @Test func `a loop takes a rule once`() {
        let watch = MoveWatch(loopCount: 1)
        watch.ruleChanged(to: 2)
        #expect(watch.take(2, on: 0))
        #expect(!watch.take(2, on: 0))
        #expect(!watch.take(1, on: 0))
    }
}

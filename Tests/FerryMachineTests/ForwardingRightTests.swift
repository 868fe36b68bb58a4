import FerryCore
import FerryMachine
import NIOCore
import Testing

@Suite struct ForwardingRightTests {
    private final class Clock: Sendable {
        private let now = Locked(NIODeadline.uptimeNanoseconds(100))

        var time: NIODeadline {
            get { self.now.withLock { $0 } }
            set { self.now.withLock { $0 = newValue } }
        }
    }

    @Test func `a right begins when its owner sets an end in the future, and ends then`() {
        let clock = Clock()
        let right = ForwardingRight { clock.time }
        #expect(!right.isHeld && !right.mayTell && !right.isEndless && right.left == .zero)
        right.set(until: clock.time + .seconds(3))
        #expect(right.isHeld && right.mayTell && right.left == .seconds(3))
        clock.time = clock.time + .seconds(3)
        #expect(!right.isHeld && !right.mayTell && right.left == .zero)
    }

    @Test func `the right to send may go on without the right to tell`() {
        let clock = Clock()
        let right = ForwardingRight { clock.time }
        right.set(until: clock.time + .seconds(3), telling: clock.time)
        #expect(right.isHeld && !right.mayTell)
    }

    @Test func `an endless right asks no clock`() {
        #expect(ForwardingRight.endless.isEndless && ForwardingRight.endless.isHeld && ForwardingRight.endless.mayTell)
    }
}

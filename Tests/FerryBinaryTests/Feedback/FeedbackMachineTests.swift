internal import FerryBinary
internal import FerryCore
import Foundation
internal import NIOCore
internal import Testing

struct FeedbackMachineTests {
    private static let limits = FeedbackMachine.Limits(connect: .seconds(10), idle: .seconds(30), sweep: .seconds(100))
    private static let start = NIODeadline.uptimeNanoseconds(1_000_000_000)

    private static func at(_ seconds: Int64) -> NIODeadline { self.start + .seconds(seconds) }

    private static func tuples(_ count: Int) -> [FeedbackTuple] {
        (0..<count).map { number in
            FeedbackTuple(
                time: Date(timeIntervalSince1970: Double(number)),
                token: DeviceToken(unchecked: [UInt8](repeating: UInt8(truncatingIfNeeded: number), count: 32))
            )
        }
    }

    private static func bytes(_ tuples: [FeedbackTuple]) -> ByteBuffer {
        var buffer = ByteBuffer()
        for tuple in tuples { tuple.write(to: &buffer) }
        return buffer
    }

    private static func opened() -> FeedbackMachine {
        var machine = FeedbackMachine(limits: self.limits)
        machine.start(now: self.start)
        machine.opened(now: self.start)
        return machine
    }

    @Test func `a reading gives every tuple once, wherever its bytes are split`() {
        let expected = Self.tuples(3)
        let bytes = Self.bytes(expected)
        for cut in 0...bytes.readableBytes {
            var (rest, machine) = (bytes, Self.opened())
            let first = rest.readSlice(length: cut) ?? ByteBuffer()
            let found = machine.received(first, now: Self.start) + machine.received(rest, now: Self.start)
            #expect(found == expected)
            #expect(machine.tuples == 3)
            #expect(machine.pendingBytes == 0)
        }
    }

    @Test func `a reading skips and counts tuples without a token, and counts the bytes of a tuple that is cut off`() {
        var machine = Self.opened()
        var bytes = ByteBuffer(bytes: [0, 0, 0, 1, 0, 0])
        bytes.writeImmutableBuffer(Self.bytes(Self.tuples(2)))
        bytes.writeBytes([0, 0, 0, 9, 0])
        #expect(machine.received(bytes, now: Self.start) == Self.tuples(2))
        #expect(machine.skipped == 1)
        #expect(machine.pendingBytes == 5)
    }

    @Test func `a reading must be connected within its time`() {
        var machine = FeedbackMachine(limits: Self.limits)
        #expect(machine.nextDeadline == nil)
        machine.start(now: Self.start)
        #expect(machine.nextDeadline == Self.at(10))
        #expect(machine.passedDeadline(now: Self.at(10) - .nanoseconds(1)) == nil)
        #expect(machine.passedDeadline(now: Self.at(10)) == .connect)
        #expect(!machine.isOpen)
    }

    @Test func `a reading ends when nothing comes for a time after the last byte`() {
        var machine = Self.opened()
        #expect(machine.nextDeadline == Self.at(30))
        #expect(machine.received(ByteBuffer(bytes: [0]), now: Self.at(20)) == [])
        #expect(machine.passedDeadline(now: Self.at(30)) == nil)
        #expect(machine.passedDeadline(now: Self.at(50)) == .idle)
    }

    @Test func `a reading ends when it takes too long as a whole, although bytes drip`() {
        var machine = Self.opened()
        for second in stride(from: Int64(0), to: 100, by: 20) {
            _ = machine.received(ByteBuffer(bytes: [0]), now: Self.at(second))
        }
        #expect(machine.nextDeadline == Self.at(100))
        #expect(machine.passedDeadline(now: Self.at(100)) == .sweep)
    }

    @Test func `a reading has no deadline while tuples wait to be taken, and the pause does not count`() {
        var machine = Self.opened()
        machine.pause(now: Self.at(25))
        #expect(machine.nextDeadline == nil)
        #expect(!machine.isReading)
        #expect(machine.isOpen)
        machine.resume(now: Self.at(1025))
        #expect(machine.isReading)
        #expect(machine.nextDeadline == Self.at(1055))
        _ = machine.received(ByteBuffer(bytes: [0]), now: Self.at(1054))
        _ = machine.received(ByteBuffer(bytes: [0]), now: Self.at(1083))
        #expect(machine.nextDeadline == Self.at(1100))
        #expect(machine.passedDeadline(now: Self.at(1100)) == .sweep)
    }

    @Test func `a reading takes the bytes that come in a pause`() {
        var machine = Self.opened()
        machine.pause(now: Self.start)
        #expect(machine.received(Self.bytes(Self.tuples(2)), now: Self.start) == Self.tuples(2))
        #expect(!machine.isReading)
    }

    @Test func `a reading ends once, and later inputs have no effect`() {
        var machine = Self.opened()
        #expect(machine.end() == true)
        #expect(machine.end() == false)
        machine.opened(now: Self.start)
        machine.resume(now: Self.start)
        #expect(machine.received(Self.bytes(Self.tuples(1)), now: Self.start) == [])
        #expect(machine.tuples == 0)
        #expect(machine.nextDeadline == nil)
        #expect(machine.hasEnded)
    }

    @Test func `a reading takes limits of any size`() {
        let limits = FeedbackMachine.Limits(
            connect: .nanoseconds(.max),
            idle: .nanoseconds(.max),
            sweep: .nanoseconds(.max)
        )
        var machine = FeedbackMachine(limits: limits)
        machine.start(now: Self.start)
        machine.opened(now: Self.start)
        machine.pause(now: Self.at(1))
        machine.resume(now: Self.at(2))
        #expect(machine.passedDeadline(now: Self.at(1_000_000)) == nil)
    }
}

import FerryMachine
import NIOCore
import Testing

@testable import FerryHTTP2

@Suite struct RefusalCountTests {
    private let start = NIODeadline.uptimeNanoseconds(1_000_000_000)
    private var generator = SplitMix64(seed: 1)
    private var refusals = RefusalCount()

    @Test mutating func `each refusal in a row makes the pause longer, up to a second`() {
        var longest = TimeAmount.zero
        for _ in 0..<10 {
            self.refusals.refused(now: self.start, using: &self.generator)
            guard let end = self.refusals.deadline else { return #expect(Bool(false), "no pause") }
            #expect(end - self.start > longest || end - self.start >= .milliseconds(750))
            #expect(end - self.start <= .seconds(1))
            longest = max(longest, end - self.start)
        }
        #expect(!self.refusals.mayWrite(now: self.start))
        #expect(self.refusals.mayWrite(now: self.start + .seconds(1)))
    }

    @Test mutating func `an answer ends the pause, and the next is short again`() {
        for _ in 0..<10 { self.refusals.refused(now: self.start, using: &self.generator) }
        self.refusals.answered()
        #expect(self.refusals.deadline == nil && self.refusals.mayWrite(now: self.start))
        self.refusals.refused(now: self.start, using: &self.generator)
        #expect(self.refusals.mayWrite(now: self.start + .milliseconds(10)))
    }

    @Test mutating func `time ends the pause`() {
        self.refusals.refused(now: self.start, using: &self.generator)
        self.refusals.tick(now: self.start)
        #expect(self.refusals.deadline != nil)
        self.refusals.tick(now: self.start + .milliseconds(10))
        #expect(self.refusals.deadline == nil)
    }
}

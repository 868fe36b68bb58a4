import FerryCore
import Testing

@testable import Ferry

@Suite(.timeLimit(.minutes(10))) struct AwaitedOutcomesTests {
    private static func record(_ tag: UInt64, _ outcome: Outcome) -> OutcomeRecord {
        OutcomeRecord(tag: PushTag(tag), outcome: outcome)
    }

    @Test func `an outcome that comes before its task waits is kept for it`() async {
        let awaited = AwaitedOutcomes()
        let tag = awaited.reserve()
        awaited.resume([Self.record(tag, .expired)])
        #expect(await awaited.value(of: tag) == .expired)
    }

    @Test func `the tag of an earlier use resumes nobody`() async {
        let awaited = AwaitedOutcomes()
        let old = awaited.reserve()
        awaited.release(old)
        let new = awaited.reserve()
        #expect(new != old)
        awaited.resume([Self.record(old, .expired)])
        awaited.release(old)
        awaited.resume([Self.record(new, .undelivered(.cancelled))])
        #expect(await awaited.value(of: new) == .undelivered(.cancelled))
    }

    @Test func `a storm of tasks leaves no memory behind, and no tag of it comes again`() {
        let awaited = AwaitedOutcomes()
        let storm = (0..<10 * AwaitedOutcomes.keptSlots).map { _ in awaited.reserve() }
        #expect(awaited.slotCount == storm.count)
        for tag in storm { awaited.release(tag) }
        #expect(awaited.slotCount == 0)
        #expect(!storm.contains(awaited.reserve()))
    }
}

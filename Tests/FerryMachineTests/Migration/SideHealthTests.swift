import FerryCore
import NIOCore
import Testing

@testable import FerryMachine

@Suite struct SideHealthTests {
    private typealias Signs = SideHealth.Signs

    private static let working = Signs(isUsable: true, hasWork: true, answered: 0)
    private static let cut = Signs(isUsable: false, hasWork: true, answered: 0)

    private static func time(_ seconds: Int64) -> NIODeadline { .uptimeNanoseconds(0) + .seconds(1000 + seconds) }

    @Test func `a side with work and no usable connection is down after the time, and not before`() {
        var health = SideHealth(MigrationOptions.Fallback())
        #expect(health.look(Self.cut, now: Self.time(0)) == nil)
        #expect(health.look(Self.cut, now: Self.time(4)) == nil)
        #expect(health.deadline == Self.time(5))
        #expect(health.look(Self.cut, now: Self.time(5)) == .down)
        #expect(health.isDown)
    }

    @Test func `a side without work is not down`() {
        var health = SideHealth(MigrationOptions.Fallback())
        for second in Int64(0)..<20 {
            #expect(health.look(Signs(isUsable: false, hasWork: false, answered: 0), now: Self.time(second)) == nil)
        }
    }

    @Test func `connections that open and close at once do not help`() {
        var health = SideHealth(MigrationOptions.Fallback())
        var changes: [SideHealth.Change] = []
        for second in Int64(0)..<10 {
            let signs = second.isMultiple(of: 2) ? Self.cut : Self.working
            if let change = health.look(signs, now: Self.time(second)) { changes.append(change) }
        }
        #expect(changes == [.down])
    }

    @Test func `a trial ends with an answer, or at the next interval`() {
        var health = SideHealth(MigrationOptions.Fallback())
        #expect(health.failed(now: Self.time(0)) == .down)
        #expect(!health.isTrialDue(now: Self.time(29)))
        #expect(health.isTrialDue(now: Self.time(30)))
        health.beginTrial(of: 7, now: Self.time(30))
        #expect(health.trialGroup == 7)
        // The connection is there, and nothing may be written.
        #expect(health.look(Self.working, now: Self.time(59)) == nil)
        #expect(health.look(Self.working, now: Self.time(60)) == .stillDown)
        #expect(health.trialGroup == nil)
        health.beginTrial(of: 8, now: Self.time(90))
        #expect(health.look(Signs(isUsable: true, hasWork: true, answered: 1), now: Self.time(91)) == .up)
        #expect(!health.isDown)
    }

    @Test func `a deadline is never in the past`() {
        var health = SideHealth(MigrationOptions.Fallback())
        _ = health.failed(now: Self.time(0))
        health.beginTrial(of: 7, now: Self.time(30))
        for second in Int64(30)..<200 {
            _ = health.look(second.isMultiple(of: 3) ? Self.cut : Self.working, now: Self.time(second))
            if let deadline = health.deadline { #expect(deadline > Self.time(second)) }
        }
    }
}

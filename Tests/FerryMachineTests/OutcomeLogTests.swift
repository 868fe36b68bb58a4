import FerryCore
import FerryMachine
import NIOCore
import Testing

@Suite struct OutcomeLogTests {
    private static let rejected = Outcome.rejected(Rejection(reason: .badDeviceToken, origin: .apns))

    @Test func `an outcome is final, and bad news after it contradicts it`() throws {
        var log = OutcomeLog()
        let run = try makeRun(2)
        log.give(.accepted(.presumed), to: run)
        log.give(Self.rejected, to: run.slice(1..<2))
        log.give(.accepted(.confirmed), to: run)
        #expect(log.records.map(\.outcome) == [.accepted(.presumed), .accepted(.presumed)])
        #expect(log.counts.settled == 2)
        #expect(log.contradicted == 1)
        let contradictions = log.takeContradictions()
        #expect(contradictions.map(\.tags) == [[1]])
        #expect(log.takeContradictions().isEmpty)
    }

    @Test func `an outcome carries the apns-id that it was given`() throws {
        var log = OutcomeLog()
        let id = try APNSID("123e4567-e89b-12d3-a456-42665544000a")
        let run = try makeRun(2)
        log.give(.accepted(.confirmed), to: run.slice(0..<1), apnsID: id)
        log.give(.accepted(.confirmed), to: run.slice(1..<2))
        #expect(log.records.map(\.apnsID) == [id, nil])
    }

    @Test func `a notification that may have arrived gets the outcome of copies`() throws {
        var log = OutcomeLog()
        let run = try makeRun(2)
        run.slice(0..<1).taint()
        log.give(.undelivered(.shutDown), tainted: .uncertain(.shutDown), to: run)
        #expect(log.records.map(\.outcome) == [.uncertain(.shutDown), .undelivered(.shutDown)])
    }

    @Test func `outcomes of awaited notifications are kept apart`() throws {
        var log = OutcomeLog()
        let run = try makeRun(2)
        run.entries[0].fields.isAwaited = true
        log.give(.expired, to: run)
        #expect(log.awaited.map(\.tag) == [0])
        #expect(log.records.map(\.tag) == [1])
        #expect(log.awaitedLosses == 0)
        #expect(run.tags == [1])
        let lost = try makeRun(3)
        lost.entries[1].fields.isAwaited = true
        log.give(.undelivered(.shutDown), to: lost)
        #expect(log.awaitedLosses == 1)
    }

    @Test func `each outcome is measured once from its submission, and the times end when they are taken`() throws {
        var log = OutcomeLog()
        let run = try makeRun(4, order: 1_000_000_000)
        let later = try makeRun(1, order: 1_200_000_000)
        log.give(.accepted(.presumed), to: run.slice(0..<1))
        let end = NIODeadline.uptimeNanoseconds(1_250_000_000)
        #expect(log.takeTimes(over: .binary, until: end).isEmpty)
        log.measureTimes()
        // The first notification has its outcome already.
        log.give(.accepted(.confirmed), to: run.slice(0..<3))
        log.give(.accepted(.confirmed), to: later)
        log.give(.expired, to: run.slice(3..<4))
        let times = log.takeTimes(over: .binary, until: end)
        let confirmed = ProviderActivity.TimedOutcome(over: .binary, .confirmed)
        let expired = ProviderActivity.TimedOutcome(over: .binary, .expired)
        #expect(Set(times.keys) == [confirmed, expired])
        #expect(times[confirmed]?.durations == [.milliseconds(250), .milliseconds(250), .milliseconds(50)])
        #expect(times[expired]?.durations == [.milliseconds(250)])
        #expect(log.takeTimes(over: .binary, until: end).isEmpty)
    }

    @Test func `many outcomes at once are measured by a sample, and counted`() throws {
        var log = OutcomeLog()
        log.measureTimes()
        let run = try makeRun(10_000, order: 1_000)
        log.give(.accepted(.confirmed), to: run)
        // Submissions at the same time are a nanosecond apart.
        let times = log.takeTimes(over: .http2, until: .uptimeNanoseconds(999))
        let sample = try #require(times[ProviderActivity.TimedOutcome(over: .http2, .confirmed)])
        #expect(sample.count == 10_000)
        #expect((32...64).contains(sample.durations.count))
        #expect(sample.durations.allSatisfy { $0 == .zero })
    }
}

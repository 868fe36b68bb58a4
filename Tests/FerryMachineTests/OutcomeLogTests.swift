import FerryCore
import FerryMachine
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
}

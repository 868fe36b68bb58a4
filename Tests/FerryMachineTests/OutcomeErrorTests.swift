import FerryCore
import FerryMachine
import Testing

@Suite struct OutcomeErrorTests {
    private let trouble = ProviderError(.connectFailed, "No connection to localhost:2195: refused.")

    @Test func `an undelivered or uncertain outcome has the trouble of that time`() throws {
        var log = OutcomeLog()
        log.give(.undelivered(.cancelled), to: try makeRun(1))
        log.failed(self.trouble)
        log.give(.undelivered(.noConnection), to: try makeRun(2))
        log.give(.uncertain(.positionUnknown), to: try makeRun(1))
        log.give(.expired, to: try makeRun(1))
        #expect(log.records.map(\.error) == [nil, self.trouble, self.trouble, self.trouble, nil])
    }

    @Test func `a peer that answers ends the trouble`() throws {
        let ends: [Outcome] = [
            .accepted(.presumed), .rejected(Rejection(reason: .badDeviceToken, origin: .gateway, status: 8)),
        ]
        for end in ends {
            var log = OutcomeLog()
            log.failed(self.trouble)
            log.give(end, to: try makeRun(1))
            log.give(.undelivered(.shutDown), to: try makeRun(1))
            #expect(log.records.last?.error == nil)
        }
    }

    @Test func `a refusal of Ferry's own says nothing about the peer`() throws {
        var log = OutcomeLog()
        log.failed(self.trouble)
        log.give(.rejected(Rejection(reason: .payloadTooLarge, origin: .ferry)), to: try makeRun(1))
        log.give(.undelivered(.shutDown), to: try makeRun(1))
        #expect(log.records.map(\.error) == [nil, self.trouble])
    }
}

import FerryCore
import FerryMachine
import NIOCore
import Testing

@testable import FerryHTTP2
@testable import FerryHTTP2World

/// Connections on which the peer does no work.
struct HTTP2UselessConnectionTests {
    private func scenario(_ names: UInt32, _ configure: (inout HTTP2Options) -> Void = { _ in }) -> Scenario {
        let scenario = Scenario(configure)
        scenario.submit(1...names)
        scenario.connect()
        return scenario
    }

    /// The requests on a connection fail: each with a server error, or its stream is refused.
    private enum Fault: CaseIterable {
        case error, refusal
    }

    private func fail(_ count: Int, _ fault: Fault, _ scenario: Scenario) {
        for _ in 0..<count {
            guard let name = scenario.requests.first?.name else { return }
            switch fault {
            case .error: scenario.answer(name, status: 500, "InternalServerError")
            case .refusal: scenario.reset(name, 7)
            }
        }
    }

    private func isAccepted(_ names: ClosedRange<UInt32>, _ scenario: Scenario) -> Bool {
        names.allSatisfy { scenario.outcome($0) == .accepted(.confirmed) }
    }

    private func isRejected(_ name: UInt32, _ scenario: Scenario) -> Bool {
        guard case .rejected(let rejection) = scenario.outcome(name) else { return false }
        return rejection.reason == .internalServerError
    }

    @Test func `five server errors in a row send everything to a new connection with the same apns-id`() {
        let scenario = self.scenario(1000)
        let (old, failed) = (scenario.current, scenario.requests.prefix(5))
        self.fail(4, .error, scenario)
        #expect(scenario.dialCount == 1)
        self.fail(1, .error, scenario)
        let written = scenario.arrived.count
        #expect(scenario.dialCount == 2)
        scenario.pass(.milliseconds(10))
        #expect(scenario.arrived.count == written)
        let new = scenario.connect()
        // The new connection has to bring an answer first, for notifications that did not fail.
        let first = scenario.requests.filter { $0.connection == new }
        #expect(first.count == 5 && first.allSatisfy { $0.name > 100 })
        scenario.answer(first[0].name)
        for request in failed {
            let again = scenario.requests.first { $0.connection == new && $0.name == request.name }
            #expect(again?.fields["apns-id"] == request.fields["apns-id"])
        }
        // What was under way on the old one fails, too.
        while let name = scenario.requests.first(where: { $0.connection == old })?.name {
            scenario.answer(name, status: 500, "InternalServerError")
        }
        scenario.answerAll()
        #expect(self.isAccepted(1...1000, scenario))
        #expect(scenario.errors.isEmpty)
    }

    @Test func `a connection that refuses every stream is left for a new one`() {
        let scenario = self.scenario(1000)
        self.fail(100, .refusal, scenario)
        #expect(scenario.dialCount == 2)
        let written = scenario.arrived.count
        #expect(written == 100)
        scenario.connect()
        #expect(scenario.arrived.count == written + 5)
        scenario.answerAll()
        #expect(self.isAccepted(1...1000, scenario))
        #expect(scenario.errors.isEmpty)
    }

    @Test func `a peer that refuses more streams than it can take is no fault of the connection`() {
        let scenario = self.scenario(300)
        let taken = scenario.requests.prefix(3).map(\.name)
        for request in scenario.requests.dropFirst(3) { scenario.reset(request.name, 7) }
        for name in taken { scenario.answer(name) }
        while scenario.arrived.count < 600, scenario.queued + scenario.underWay > 0 {
            scenario.pass(.seconds(1))
            scenario.answerAll()
        }
        #expect(self.isAccepted(1...300, scenario))
        #expect(scenario.dialCount == 1)
    }

    @Test(arguments: Fault.allCases)
    private func `if no connection works, it is told once, and one request is tried at a time`(fault: Fault) {
        let scenario = self.scenario(1000) { $0.backOff = .seconds(1) ... .seconds(8) }
        self.fail(.max, fault, scenario)
        scenario.connect()
        self.fail(5, fault, scenario)
        #expect(scenario.errors == [.tooManyRejections])
        let start = scenario.now
        for _ in 1...5 {
            let written = scenario.arrived.count
            scenario.connect()
            #expect(scenario.arrived.count == written + 1)
            self.fail(1, fault, scenario)
        }
        #expect(scenario.now - start >= .seconds(17))
        #expect(scenario.errors == [.tooManyRejections])
        // Nothing had to be given up for it, and the first answer ends it.
        let rejected = scenario.client.outcomes.counts.rejected
        #expect(rejected == 0)
        scenario.connect()
        scenario.answerAll()
        let counts = scenario.client.outcomes.counts
        #expect(counts.accepted == 1000, "\(counts), \(scenario.queued) queued, \(scenario.underWay) under way")
    }

    /// Answers one request of the newest connection with a server error, and closes the connection.
    private func failAndClose(_ saysGoAway: Bool, _ scenario: Scenario) {
        let id = scenario.current
        guard let name = scenario.requests.first(where: { $0.connection == id })?.name else { return }
        // Both come in one read.
        if saysGoAway { scenario.links[id]?.server.goAway(lastStreamID: nil, errorCode: 0, debugData: []) }
        scenario.answer(name, status: 500, "InternalServerError")
        scenario.end(id)
    }

    private func closingScenario() -> Scenario {
        let scenario = Scenario { $0.backOff = .seconds(1) ... .seconds(8) }
        scenario.settings.maxConcurrentStreams = 1
        scenario.submit(1...300)
        scenario.connect()
        return scenario
    }

    @Test(arguments: [true, false])
    func `a peer that closes each connection after an error is told once, and tried with pauses`(saysGoAway: Bool) {
        let scenario = self.closingScenario()
        for _ in 1...4 {
            self.failAndClose(saysGoAway, scenario)
            scenario.connect()
        }
        #expect(scenario.errors.isEmpty)
        self.failAndClose(saysGoAway, scenario)
        #expect(scenario.errors == [.tooManyRejections])
        let start = scenario.now
        for _ in 1...5 {
            let written = scenario.arrived.count
            scenario.connect()
            #expect(scenario.arrived.count == written + 1)
            self.failAndClose(saysGoAway, scenario)
        }
        #expect(scenario.now - start >= .seconds(17))
        #expect(scenario.errors == [.tooManyRejections])
        #expect(scenario.client.outcomes.counts.rejected == 0)
        scenario.connect()
        scenario.answerAll()
        guard saysGoAway else { return }
        #expect(scenario.client.outcomes.counts.accepted == 300)
    }

    @Test func `a connection that did some work before it was closed is no sign of an outage`() {
        let scenario = self.closingScenario()
        for _ in 1...20 {
            scenario.answerFirst(1)
            self.failAndClose(true, scenario)
            scenario.connect()
        }
        #expect(scenario.errors.isEmpty)
    }

    @Test func `what every connection refused says so at its deadline`() throws {
        let scenario = self.scenario(20)
        self.fail(20, .refusal, scenario)
        let end = scenario.now + .seconds(61)
        while scenario.now < end {
            if !scenario.dials.isEmpty { scenario.connect() }
            self.fail(1, .refusal, scenario)
            scenario.pass(.milliseconds(500))
        }
        for name in 1...20 as ClosedRange<UInt32> { #expect(scenario.outcome(name) == .undelivered(.deadline)) }
        let sentence = try #require(Outcome.undelivered(.deadline).explanation)
        #expect(sentence.contains("refused"))
    }

    @Test func `fewer errors in a row are the fault of notifications`() {
        let scenario = self.scenario(10)
        self.fail(4, .error, scenario)
        #expect(scenario.outcomes.isEmpty)
        scenario.answerFirst(1)
        #expect(scenario.client.outcomes.counts.rejected == 4)
        scenario.answerAll()
        #expect(scenario.dialCount == 1)
    }

    @Test func `an error waits for other answers for two seconds at most, and not without others`() {
        let scenario = self.scenario(2)
        self.fail(1, .error, scenario)
        scenario.pass(.milliseconds(1900))
        #expect(scenario.outcomes.isEmpty)
        scenario.pass(.milliseconds(200))
        #expect(self.isRejected(1, scenario))
        self.fail(1, .error, scenario)
        #expect(self.isRejected(2, scenario))
    }

    @Test func `what waits for a decision is settled with the provider`() {
        let scenario = self.scenario(3)
        self.fail(1, .error, scenario)
        #expect(scenario.queued == 1)
        scenario.abandon()
        #expect(self.isRejected(1, scenario))
        #expect(scenario.queued == 0)
    }
}

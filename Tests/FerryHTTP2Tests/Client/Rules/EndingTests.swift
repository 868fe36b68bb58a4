import FerryCore
import FerryHTTP2
import FerryMachine
import NIOCore
import Testing

@testable import FerryHTTP2World

struct HTTP2EndingTests {
    @Test func `what a GOAWAY excludes goes out again on the next connection, and the rest is waited for`() {
        let scenario = Scenario()
        scenario.submit(1...4)
        let first = scenario.connect()
        scenario.answer(1)
        scenario.goAway(lastStreamID: 3)
        #expect(scenario.dials.count == 1)
        scenario.answer(2)
        #expect(scenario.finished == [first])
        scenario.end(first)
        scenario.connect()
        scenario.answer(3)
        scenario.answer(4)
        #expect(scenario.arrived == [1, 2, 3, 4, 3, 4])
        #expect((1...4).allSatisfy { scenario.outcome($0) == .accepted(.confirmed) })
    }

    @Test func `a GOAWAY comes as a notice first`() {
        let scenario = Scenario()
        scenario.submit(1...3)
        let first = scenario.connect()
        scenario.goAway(lastStreamID: .max)
        scenario.submit(4...4)
        #expect(scenario.arrived == [1, 2, 3])
        scenario.goAway(lastStreamID: 1)
        scenario.answer(1)
        #expect(scenario.finished == [first])
        scenario.connect()
        scenario.answerAll()
        #expect(scenario.arrived == [1, 2, 3, 2, 3, 4])
    }

    /// Makes a connection and lets `happens` happen on it; returns how long the client waited before it.
    private func wait(_ scenario: Scenario, _ happens: () -> Void) -> TimeAmount {
        let start = scenario.now
        scenario.connect()
        let wait = scenario.now - start
        happens()
        return wait
    }

    /// The shortest durations of this many waits in a row, if each is twice as long as the last.
    private func leastWaits(_ count: Int) -> [TimeAmount] {
        [.zero] + (0..<count - 1).map { .milliseconds(187 << Int64($0)) }
    }

    @Test(arguments: [false, true])
    func `a GOAWAY before any answer makes the next connection wait, longer each time`(isUnused: Bool) {
        let scenario = Scenario {
            $0.connectionRetryLimit = nil
            $0.deadline = .seconds(3600)
        }
        scenario.pause(isUnused)
        scenario.submit(1...1)
        let waits = (0..<6).map { _ in
            self.wait(scenario) {
                scenario.goAway(lastStreamID: 0)
                scenario.end()
            }
        }
        #expect(zip(waits, self.leastWaits(6)).allSatisfy { $0 >= $1 }, "\(waits)")
        #expect(scenario.dialCount == 6)
        // An answer ends the waits.
        scenario.pause(false)
        scenario.connect()
        scenario.answer(1)
        scenario.submit(2...2)
        scenario.goAway(lastStreamID: 1)
        #expect(scenario.dials.count == 1)
    }

    @Test func `a lasting error ends what is queued at once, and new work tries again`() {
        let scenario = Scenario()
        scenario.submit(1...2)
        let untrusted = ProviderError(.peerNotTrusted, "stranger")
        scenario.failDial(.notConnected(untrusted))
        #expect(
            scenario.outcome(1) == .undelivered(.noConnection) && scenario.outcome(2) == .undelivered(.noConnection)
        )
        #expect(scenario.errors == [.peerNotTrusted])
        scenario.submit(3...3)
        scenario.connect()
        scenario.answer(3)
        #expect(scenario.outcome(3) == .accepted(.confirmed))
        // The peer has proved to be the right one, so the next failure is only one of many.
        scenario.end()
        scenario.submit(4...4)
        scenario.failDial(.notConnected(untrusted))
        #expect(scenario.outcome(4) == nil)
        #expect(scenario.errors == [.peerNotTrusted])
    }

    @Test(arguments: [ProviderError.Code.peerNotTrusted, .credentialsRejected])
    func `with retriesLastingErrors a lasting error counts like any other`(code: ProviderError.Code) {
        let scenario = Scenario {
            $0.retriesLastingErrors = true
            $0.connectionRetryLimit = 1
        }
        scenario.submit(1...1)
        let error = ProviderError(code, "no retry helps")
        let end: ConnectionEnd = code == .credentialsRejected ? .credentialsRejected(error) : .notConnected(error)
        scenario.failDial(end)
        #expect(scenario.outcome(1) == nil)
        scenario.failDial(end)
        #expect(scenario.outcome(1) == .undelivered(.noConnection))
        #expect(scenario.errors == [.connectionRetryLimit])
    }

    @Test func `connections that APNs leaves before any answer are given up after too many`() {
        let scenario = Scenario { $0.connectionRetryLimit = 2 }
        scenario.pause(true)
        scenario.submit(1...1)
        for _ in 0..<3 {
            scenario.connect()
            scenario.goAway(lastStreamID: 0)
            scenario.end()
        }
        #expect(scenario.outcome(1) == .undelivered(.noConnection))
        #expect(scenario.errors == [.connectionRetryLimit])
    }

    @Test func `a peer that closed without a word is told from one that spoke`() {
        let farewells: [(String, (Scenario) -> Void)] = [
            ("closed the last without a word.", { _ in }),
            ("closes the connection: INTERNAL_ERROR, Shutdown.", { $0.goAway(errorCode: 2, "Shutdown") }),
            ("closes the connection: NO_ERROR.", { $0.goAway(lastStreamID: 0) }),
            ("reset a request on the last, and closed it: CANCEL (8).", { $0.reset(1, 8) }),
            ("answered IdleTimeout on the last, and closed it.", { $0.answer(1, status: 400, "IdleTimeout") }),
            ("does not speak HTTP/2 correctly.", { $0.say(RawFrame.pushPromise(1, promised: 2)) }),
        ]
        for (sentence, happens) in farewells {
            let scenario = Scenario {
                $0.connectionRetryLimit = 1
                $0.onUnknown = .resend
            }
            scenario.submit(1...2)
            for _ in 0..<2 {
                scenario.connect()
                happens(scenario)
                scenario.end()
            }
            let message = scenario.messages.last ?? ""
            #expect(message.hasSuffix(sentence), "\(message)")
        }
    }

    @Test func `a tunnel that ends under a request is a lost connection, whose error names the proxy`() {
        let scenario = Scenario(proxy: "192.0.2.1:3128") { $0.onUnknown = .report }
        var losses: [String] {
            scenario.events.compactMap { if case .socketError(_, let error) = $0 { error.message } else { nil } }
        }
        scenario.submit(1...1)
        scenario.connect()
        scenario.end()
        let sentence =
            "The tunnel to localhost (through the proxy 192.0.2.1:3128) ended before its requests were answered: the proxy or "
            + "the server behind it closed it."
        #expect(losses == [sentence])
        // Many a proxy closes a tunnel that nobody uses.
        scenario.submit(2...2)
        scenario.connect()
        scenario.answerAll()
        scenario.end()
        #expect(losses.count == 1)
        // The server has said why.
        scenario.submit(3...3)
        scenario.connect()
        scenario.goAway(errorCode: 2, "Shutdown")
        scenario.end()
        #expect(losses.count == 2)
        #expect(losses.last?.hasPrefix("localhost (through the proxy 192.0.2.1:3128) closes the connection") == true)
    }

    @Test(arguments: [HTTP2Options.UnknownPolicy.report, .resend])
    func `a reset request names its error code, in the event and in the outcome`(policy: HTTP2Options.UnknownPolicy) {
        let scenario = Scenario { $0.onUnknown = policy }
        scenario.submit(1...1)
        scenario.connect()
        scenario.reset(1, 99)
        let codes = scenario.events.compactMap { event -> HTTP2ErrorCode? in
            if case .requestReset(_, let code, tag: 1) = event { code } else { nil }
        }
        #expect(codes == [HTTP2ErrorCode(rawValue: 99)])
        guard policy == .report else { return #expect(scenario.outcomes.isEmpty) }
        #expect(scenario.outcome(1) == .uncertain(.reset))
        #expect(scenario.outcomes[1]?.first?.errorCode == HTTP2ErrorCode(rawValue: 99))
    }

    @Test func `a server that breaks the protocol before any request is no reason to dial at once`() {
        let scenario = Scenario()
        scenario.pause(true)
        scenario.submit(1...1)
        scenario.connect()
        scenario.say(RawFrame.pushPromise(1, promised: 2))
        scenario.end()
        #expect(scenario.dials.isEmpty)
    }

    @Test func `a GOAWAY that comes with the first answer makes the next connection at once`() {
        let scenario = Scenario()
        scenario.submit(1...2)
        let first = scenario.connect()
        scenario.links[first]?.server.goAway(lastStreamID: 1)
        scenario.answer(1)
        #expect(scenario.dials.count == 1)
    }

    @Test func `ENHANCE_YOUR_CALM makes the wait longer each time, until a connection lasts`() {
        let scenario = Scenario()
        var waits: [TimeAmount] = []
        for name in 1...6 as ClosedRange<UInt32> {
            scenario.submit(name...name)
            waits.append(
                self.wait(scenario) {
                    scenario.answer(name)
                    scenario.goAway(errorCode: 11)
                    scenario.end()
                }
            )
        }
        #expect(zip(waits, self.leastWaits(6)).allSatisfy { $0 >= $1 }, "\(waits)")
        scenario.submit(7...7)
        scenario.connect()
        scenario.pass(.seconds(5))
        scenario.answer(7)
        scenario.pass(.seconds(25))
        scenario.submit(8...8)
        scenario.answer(8)
        scenario.goAway(errorCode: 11)
        scenario.end()
        scenario.submit(9...9)
        #expect(scenario.dials.isEmpty)
        let wait = self.wait(scenario) {}
        #expect(wait <= .milliseconds(250))
    }

    @Test func `ENHANCE_YOUR_CALM that a connection says twice counts once`() {
        let scenario = Scenario()
        scenario.submit(1...1)
        scenario.connect()
        scenario.answer(1)
        let goAway = RawFrame.bytes(type: 7, [0, 0, 0, 1, 0, 0, 0, 11])
        scenario.say(Array(repeatElement(goAway, count: 20).joined()))
        scenario.end()
        scenario.submit(2...2)
        let wait = self.wait(scenario) {}
        #expect(wait <= .milliseconds(250))
    }

    @Test func `an empty pool is not refilled without work`() {
        let scenario = Scenario()
        scenario.submit(1...1)
        scenario.connect()
        scenario.answer(1)
        scenario.goAway()
        #expect(scenario.finished.count == 1)
        scenario.end()
        scenario.pass(.hours(3))
        #expect(scenario.dialCount == 1)
        #expect(scenario.events.contains { if case .completed = $0 { true } else { false } })
    }

    @Test(arguments: [HTTP2Options.UnknownPolicy.report, .resend])
    func `a lost connection leaves what was written unknown`(policy: HTTP2Options.UnknownPolicy) {
        let scenario = Scenario { $0.onUnknown = policy }
        scenario.submit(1...2)
        scenario.connect()
        scenario.answer(1)
        scenario.end()
        if policy == .report {
            #expect(scenario.outcome(2) == .uncertain(.positionUnknown))
            #expect(scenario.queued == 0)
        } else {
            scenario.connect()
            scenario.answer(2)
            #expect(scenario.outcome(2) == .accepted(.confirmed))
            #expect(scenario.arrived == [1, 2, 2])
        }
    }

    @Test func `what is behind a write that the system did not take whole is sent again under any policy`() {
        let scenario = Scenario()
        scenario.submit(1...1)
        let id = scenario.connect()
        scenario.answer(1)
        let handed = scenario.links[id]?.handed ?? 0
        scenario.submit(2...2)
        scenario.submit(3...3)
        scenario.links[id]?.handed = handed
        scenario.end()
        #expect(scenario.outcome(2) == .uncertain(.positionUnknown))
        #expect(scenario.outcome(3) == nil)
        #expect(scenario.queued == 1)
    }

    @Test func `refused credentials end what was written and what is queued, and the next dial waits`() {
        let scenario = Scenario()
        scenario.submit(1...200)
        scenario.connect()
        scenario.end(nil, .credentialsRejected(ProviderError(.credentialsRejected, "refused")))
        #expect((1...200).allSatisfy { scenario.outcome($0) == .undelivered(.credentials) })
        #expect(scenario.errors == [.credentialsRejected])
        scenario.submit(201...201)
        #expect(scenario.dials.isEmpty)
        scenario.failDial(.credentialsRejected(ProviderError(.credentialsRejected, "refused")))
        #expect(scenario.outcome(201) == .undelivered(.credentials))
    }

    @Test func `after too many connections without an answer the queue is given up`() {
        let scenario = Scenario { $0.connectionRetryLimit = 2 }
        scenario.submit(1...1)
        for _ in 0..<3 { scenario.failDial() }
        #expect(scenario.outcome(1) == .undelivered(.noConnection))
        #expect(scenario.errors == [.connectionRetryLimit])
    }

    @Test func `without a connection a notification ends at its deadline`() {
        let scenario = Scenario { $0.connectionRetryLimit = nil }
        scenario.submit(1...1)
        scenario.failDial()
        scenario.pass(.seconds(61))
        #expect(scenario.outcome(1) == .undelivered(.noConnection))
    }

    @Test func `a server that does not speak HTTP 2 is left, with one error`() {
        let scenario = Scenario()
        scenario.submit(1...1)
        let id = scenario.connect()
        scenario.say(Array("HTTP/1.1 400 Bad Request\r\n\r\n".utf8))
        #expect(scenario.errors == [.protocolViolation])
        #expect(scenario.finished == [id])
        scenario.pass(.seconds(6))
        #expect(scenario.closed == [id])
        #expect(scenario.outcome(1) == .uncertain(.positionUnknown))
    }

    @Test func `a server that breaks the protocol with requests under way makes nothing spin`() {
        let scenario = Scenario { $0.attemptTimeout = .seconds(1) }
        scenario.submit(1...5)
        scenario.connect()
        scenario.say(RawFrame.pushPromise(1, promised: 2))
        scenario.pass(.seconds(3))
        scenario.pass(.seconds(10))
        #expect((1...5).allSatisfy { scenario.outcome($0) == .uncertain(.noAnswer) })
    }

    @Test func `a peer that answers nothing in time is one event, however many requests wait`() {
        let scenario = Scenario { $0.attemptTimeout = .seconds(1) }
        scenario.submit(1...5)
        scenario.connect()
        scenario.pass(.seconds(3))
        #expect((1...5).allSatisfy { scenario.outcome($0) == .uncertain(.noAnswer) })
        let failures = scenario.events.count { if case .socketError = $0 { true } else { false } }
        #expect(failures == 1)
    }

    @Test func `a connection on which no SETTINGS come is given up`() {
        let scenario = Scenario { $0.attemptTimeout = .seconds(60) }
        scenario.submit(1...2)
        let id = scenario.connect(isSilent: true)
        #expect(scenario.arrived == [1])
        scenario.pass(.seconds(11))
        #expect(scenario.closed == [id])
        #expect(scenario.outcome(1) == .uncertain(.positionUnknown))
        #expect(scenario.outcome(2) == nil)
    }

    @Test func `an idle connection is asked by PING, and is dead without an answer`() {
        let scenario = Scenario { $0.pingInterval = .seconds(30) }
        scenario.submit(1...1)
        let id = scenario.connect()
        scenario.answer(1)
        // Each PING was answered.
        scenario.pass(.minutes(5))
        #expect(scenario.closed.isEmpty)
        scenario.stick()
        scenario.pass(.seconds(39))
        #expect(scenario.closed.isEmpty)
        scenario.pass(.seconds(30))
        #expect(scenario.closed == [id])
    }

    // MARK: The end

    @Test func `a shutdown sends what was taken, says GOAWAY and finishes`() {
        let scenario = Scenario()
        scenario.submit(1...2)
        let id = scenario.connect()
        scenario.shutDown()
        #expect(scenario.finished.isEmpty)
        scenario.answer(1, 2)
        #expect(scenario.finished == [id])
        #expect(!scenario.isFinished)
        scenario.end()
        #expect(scenario.isFinished)
    }

    @Test func `on a connection that is left, requests that SETTINGS hold back get their answers`() {
        let scenario = Scenario()
        scenario.submit(1...1)
        let id = scenario.connect(isSilent: true)
        scenario.say(RawFrame.settings(maxConcurrentStreams: 100))
        scenario.say(RawFrame.headers(1, [(":status", "200")], isLast: true))
        scenario.stick()
        scenario.submit(2...4)
        // One request is written when SETTINGS hold back the others.
        scenario.write(frames: 1)
        scenario.say(RawFrame.settings(maxConcurrentStreams: 1))
        scenario.write(frames: 9)
        let body = Array(#"{"reason":"IdleTimeout"}"#.utf8)
        scenario.say(RawFrame.headers(3, [(":status", "400")]) + RawFrame.data(3, body, isLast: true))
        // A frame arrives in two pieces, and the next request goes out between them.
        scenario.write(frames: 1)
        scenario.say(Array(RawFrame.ping.prefix(5)))
        scenario.write(frames: 9)
        scenario.say(Array(RawFrame.ping.dropFirst(5)))
        scenario.say(RawFrame.headers(5, [(":status", "200")], isLast: true))
        #expect(scenario.outcome(3) == .accepted(.confirmed))
        scenario.write(frames: 9)
        scenario.say(RawFrame.headers(7, [(":status", "200")], isLast: true))
        #expect(scenario.outcome(4) == .accepted(.confirmed))
        scenario.write(frames: 9)
        #expect(scenario.finished == [id])
    }

    @Test func `a shutdown ends when the last notification is refused before it is sent`() {
        let scenario = Scenario()
        scenario.submit(1...1)
        scenario.connect()
        scenario.answer(1)
        scenario.pause(true)
        scenario.submit([2]) { _ in
            (try PushNotification(json: Scenario.payload(2), topic: "com.example.other", pushType: .voip), [1])
        }
        scenario.shutDown()
        scenario.pause(false)
        #expect(scenario.outcome(2) == .rejected(Rejection(reason: .badTopic, origin: .ferry)))
        #expect(scenario.finished.count == 1)
    }

    @Test func `a shutdown ends when the peer reads nothing`() {
        let scenario = Scenario()
        scenario.submit(1...1)
        scenario.connect()
        scenario.answer(1)
        scenario.stick()
        scenario.shutDown()
        scenario.pass(.seconds(6))
        #expect(scenario.isFinished)
    }

    @Test func `a shutdown ends when the peer never stops talking`() {
        let scenario = Scenario()
        scenario.submit(1...1)
        scenario.connect()
        scenario.answer(1)
        scenario.shutDown()
        for _ in 0..<10 where !scenario.isFinished {
            scenario.say(RawFrame.ping)
            scenario.pass(.seconds(1))
        }
        #expect(scenario.isFinished)
    }

    @Test func `an abandoned provider is finished at once, and knows what was not written`() {
        let scenario = Scenario()
        scenario.settings.maxConcurrentStreams = 1
        scenario.submit(1...2)
        scenario.connect()
        scenario.abandon()
        #expect(scenario.outcome(1) == .uncertain(.shutDown))
        #expect(scenario.outcome(2) == .undelivered(.shutDown))
        #expect(scenario.isFinished)
    }

    @Test func `nothing is kept of what is settled`() {
        let scenario = Scenario()
        scenario.submit(1...300)
        scenario.connect()
        scenario.reset(5, 2)
        scenario.reset(6, 7)
        scenario.pass(.seconds(2))
        scenario.answerAll()
        scenario.pass(.seconds(2))
        scenario.answerAll()
        #expect(scenario.outcomes.count == 300)
        #expect(scenario.streamsHeld == 0)
        #expect(scenario.queued == 0 && scenario.underWay == 0)
    }
}

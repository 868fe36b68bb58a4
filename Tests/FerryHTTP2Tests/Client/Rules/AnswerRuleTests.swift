import FerryCore
import FerryHTTP2
import FerryMachine
import NIOCore
import Testing

@testable import FerryHTTP2World

struct HTTP2AnswerRuleTests {
    private func isRejected(_ outcome: Outcome?, _ reason: Reason) -> Bool {
        if case .rejected(let rejection) = outcome { rejection.reason == reason } else { false }
    }

    // MARK: Provider tokens

    @Test func `an expired token is renewed once for all, and what it refused is sent again`() {
        let scenario = Scenario(usesTokens: true)
        scenario.submit(1...1)
        scenario.connect()
        scenario.answer(1)
        scenario.pass(.minutes(30))
        scenario.submit(2...6)
        let old = scenario.requests.first?.fields["authorization"]
        scenario.answer(2, 3, 4, 5, 6, status: 403, "ExpiredProviderToken")
        #expect(scenario.refused == [.expiredProviderToken])
        #expect(scenario.arrived == [1, 2, 3, 4, 5, 6, 2, 3, 4, 5, 6])
        #expect(scenario.requests.allSatisfy { $0.fields["authorization"] != old })
        scenario.answerAll()
        #expect((2...6).allSatisfy { scenario.outcome($0) == .accepted(.confirmed) })
        #expect(scenario.tokens.machine.mintCount == 2)
    }

    @Test func `an expired token that may not be renewed yet holds sending until it may`() {
        let scenario = Scenario(usesTokens: true) { $0.deadline = .seconds(3600) }
        scenario.submit(1...1)
        scenario.connect()
        scenario.answer(1, status: 403, "ExpiredProviderToken")
        scenario.pass(.minutes(19))
        #expect(scenario.arrived == [1])
        scenario.pass(.minutes(2))
        #expect(scenario.arrived == [1, 1])
    }

    @Test func `what is held by a refused token ends at its deadline with what APNs said`() {
        let scenario = Scenario(usesTokens: true)
        scenario.submit(1...2)
        scenario.connect()
        scenario.answer(1, status: 403, "ExpiredProviderToken")
        scenario.pass(.seconds(61))
        #expect(self.isRejected(scenario.outcome(1), .expiredProviderToken))
        #expect(scenario.outcome(2) == .undelivered(.credentials))
    }

    @Test func `an expired token that is new says at once that a clock is wrong, once for each token`() {
        let scenario = Scenario(usesTokens: true) { $0.deadline = .seconds(7200) }
        scenario.submit(1...5)
        scenario.connect()
        scenario.answer(1, status: 403, "ExpiredProviderToken")
        #expect(scenario.errors == [.credentialsRejected])
        #expect(scenario.messages.first?.contains("clock") == true)
        #expect(scenario.messages.first?.contains("this machine's clock says 2023-11-14T22:13:20Z") == true)
        scenario.pass(.minutes(19))
        #expect(scenario.errors.count == 1)
        scenario.passUntilArrived(2, within: .minutes(2))
        scenario.answer(1, status: 403, "ExpiredProviderToken")
        #expect(scenario.errors == [.credentialsRejected, .credentialsRejected])
    }

    @Test func `while the successor of a refused token is on its way, requests wait and nothing is an error`() {
        let scenario = Scenario(usesTokens: true)
        scenario.submit(1...1)
        scenario.connect()
        scenario.answer(1)
        scenario.pass(.minutes(30))
        scenario.submit(2...2)
        scenario.tokens.isAwaiting = true
        scenario.answer(2, status: 403, "ExpiredProviderToken")
        scenario.pass(.seconds(2))
        #expect(scenario.arrived == [1, 2])
        scenario.tokens.isAwaiting = false
        scenario.pass(.milliseconds(20))
        scenario.answer(2)
        #expect(scenario.arrived == [1, 2, 2])
        #expect(scenario.outcome(2) == .accepted(.confirmed))
        #expect(scenario.errors.isEmpty)
    }

    @Test func `an expired token made elsewhere is an error of credentials only before the first acceptance`() {
        for isFirst in [true, false] {
            let scenario = Scenario(usesTokens: true)
            scenario.tokens.origin = .given
            scenario.submit(1...2)
            scenario.connect()
            if !isFirst { scenario.answer(1) }
            scenario.answer(isFirst ? 1 : 2, status: 403, "ExpiredProviderToken")
            #expect(scenario.errors == (isFirst ? [.credentialsRejected] : []))
            guard isFirst else { continue }
            #expect(scenario.messages.first?.hasSuffix("Nothing is sent until there is another.") == true)
        }
    }

    @Test func `a token that is replaced at once is no error`() {
        let scenario = Scenario(usesTokens: true)
        scenario.submit(1...1)
        scenario.connect()
        scenario.answer(1)
        scenario.pass(.minutes(30))
        scenario.submit(2...2)
        scenario.answer(2, status: 403, "ExpiredProviderToken")
        scenario.answer(2)
        #expect(scenario.errors.isEmpty)
    }

    @Test(arguments: [
        (Duration.seconds(60), ProviderError.Code.credentialsRejected), (.seconds(3600), .tooManyRejections),
    ])
    func `a frozen token says so, and whether the queue can outlive it`(
        deadline: Duration,
        code: ProviderError.Code
    ) {
        let scenario = Scenario(usesTokens: true) { $0.deadline = deadline }
        scenario.submit(1...2)
        scenario.connect()
        scenario.answer(1, status: 429, "TooManyProviderTokenUpdates")
        #expect(scenario.errors == [code])
        #expect(scenario.messages.first?.hasSuffix("Nothing is sent for 1200 s.") == true)
    }

    @Test func `TooManyProviderTokenUpdates freezes for 20 minutes`() {
        let scenario = Scenario(usesTokens: true) { $0.deadline = .seconds(3600) }
        scenario.submit(1...1)
        scenario.connect()
        scenario.answer(1, status: 429, "TooManyProviderTokenUpdates")
        #expect(scenario.refused == [.tooManyProviderTokenUpdates])
        scenario.pass(.minutes(19))
        #expect(scenario.arrived == [1])
        scenario.passUntilArrived(2, within: .minutes(2))
        scenario.answer(1)
        #expect(scenario.outcome(1) == .accepted(.confirmed))
    }

    @Test func `UnrelatedKeyIdInToken opens one new connection, and no more`() {
        let scenario = Scenario(usesTokens: true)
        scenario.submit(1...3)
        let first = scenario.connect()
        scenario.answer(1, status: 403, "UnrelatedKeyIdInToken")
        #expect(scenario.finished == [first])
        scenario.connect()
        #expect(scenario.arrived == [1, 1])
        scenario.answer(1, status: 403, "UnrelatedKeyIdInToken")
        #expect(self.isRejected(scenario.outcome(1), .unrelatedKeyIDInToken))
        scenario.answer(2, status: 403, "UnrelatedKeyIdInToken")
        #expect(self.isRejected(scenario.outcome(2), .unrelatedKeyIDInToken))
        #expect(scenario.dialCount == 2)
    }

    // MARK: Later

    @Test func `TooManyRequests waits, and nothing else goes to that device meanwhile`() {
        let scenario = Scenario()
        scenario.submit(1...1, device: [1, 2, 3])
        scenario.connect()
        scenario.answer(1, status: 429, "TooManyRequests")
        scenario.submit(2...2, device: [1, 2, 3])
        scenario.submit(3...3, device: [4, 5, 6])
        #expect(scenario.arrived == [1, 3])
        scenario.pass(.seconds(2))
        #expect(scenario.arrived == [1, 3, 1, 2])
        scenario.answerAll()
        #expect((1...3).allSatisfy { scenario.outcome($0) == .accepted(.confirmed) })
    }

    @Test(arguments: [(429, "TooManyRequests"), (503, "ServiceUnavailable"), (503, "")])
    func `an answer that says when to come back is believed`(status: Int, reason: String) {
        let scenario = Scenario { $0.deadline = .seconds(60) }
        scenario.submit(1...1)
        scenario.connect()
        scenario.answer(1, status: status, reason, retryAfter: 20)
        scenario.pass(.seconds(19))
        #expect(scenario.arrived == [1])
        // The jitter adds up to a quarter.
        scenario.pass(.seconds(7))
        #expect(scenario.arrived == [1, 1])
        scenario.answer(1)
        #expect(scenario.outcome(1) == .accepted(.confirmed))
    }

    @Test(arguments: [4_294_967_295, 20_000_000_000, 0] as [UInt64])
    func `a time to come back that is too far away, or none, does no harm`(seconds: UInt64) {
        let scenario = Scenario { $0.deadline = .seconds(60) }
        scenario.submit(1...1)
        scenario.connect()
        for _ in 0..<3 {
            scenario.answer(1, status: 429, "TooManyRequests", retryAfter: seconds)
            scenario.pass(.seconds(10))
            if scenario.outcome(1) != nil { return }
        }
        #expect(scenario.arrived.count <= 4)
    }

    @Test func `a status 500 is the outcome when the deadline comes before the next attempt`() {
        let scenario = Scenario()
        scenario.submit(1...1)
        scenario.connect()
        scenario.answer(1, status: 500, "InternalServerError")
        #expect(self.isRejected(scenario.outcome(1), .internalServerError))
    }

    @Test func `a status 503 is tried again after 15 minutes with the same apns-id`() {
        let scenario = Scenario { $0.deadline = .seconds(3600) }
        scenario.submit(1...1)
        scenario.connect()
        let identifier = scenario.requests.first?.fields["apns-id"]
        scenario.answer(1, status: 503, "ServiceUnavailable")
        scenario.pass(.minutes(14))
        #expect(scenario.arrived == [1])
        scenario.passUntilArrived(2, within: .minutes(5))
        #expect(scenario.arrived == [1, 1])
        #expect(scenario.requests.first?.fields["apns-id"] == identifier)
        scenario.answer(1)
        #expect(scenario.outcomes[1]?.first?.apnsID?.description == identifier)
    }

    @Test func `a notification that was given back after a GOAWAY keeps its apns-id`() {
        let scenario = Scenario()
        scenario.submit(1...3)
        scenario.connect()
        scenario.passUntilArrived(1, within: .seconds(1))
        let identifier = scenario.requests.first?.fields["apns-id"]
        #expect(identifier != nil)
        scenario.goAway(lastStreamID: 0)
        scenario.end()
        let recalled = scenario.recallAndSubmit(after: .seconds(1))
        #expect(recalled == 3)
        scenario.connect()
        scenario.passUntilArrived(2, within: .seconds(10))
        #expect(scenario.requests.last?.name == 1)
        #expect(scenario.requests.last?.fields["apns-id"] == identifier)
    }

    @Test func `an expiration that would pass while scenario is a reason not to wait`() {
        let scenario = Scenario { $0.deadline = .seconds(3600) }
        scenario.submit(1...1, expiration: scenario.epochSeconds + 600)
        scenario.connect()
        scenario.answer(1, status: 503, "ServiceUnavailable")
        #expect(self.isRejected(scenario.outcome(1), .serviceUnavailable))
    }

    @Test func `what the delay queue has no room for ends with what APNs said`() {
        let scenario = Scenario { $0.delayLimit = 1 }
        scenario.submit(1...2)
        scenario.connect()
        scenario.answer(1, 2, status: 429, "TooManyRequests")
        #expect(scenario.outcome(1) == nil)
        #expect(self.isRejected(scenario.outcome(2), .tooManyRequests))
    }

    @Test func `a device's notifications are kept apart by the pacing`() {
        let scenario = Scenario { $0.devicePacing = .seconds(5) }
        scenario.submit(1...3, device: [1, 2, 3])
        scenario.connect()
        #expect(scenario.arrived == [1])
        scenario.answer(1)
        scenario.pass(.seconds(5))
        #expect(scenario.arrived == [1, 2])
        scenario.answer(2)
        scenario.pass(.seconds(5))
        #expect(scenario.arrived == [1, 2, 3])
    }

    @Test func `what pacing would bring beyond the deadline ends in time, and keeps no later one scenario`() {
        let scenario = Scenario { $0.devicePacing = .seconds(50) }
        scenario.submit(1...5, device: [1, 2, 3])
        scenario.connect()
        scenario.answer(1)
        scenario.pass(.seconds(55))
        scenario.answer(2)
        scenario.pass(.seconds(16))
        #expect((3...5).allSatisfy { scenario.outcome($0) == .undelivered(.deadline) })
        scenario.submit(6...6, device: [1, 2, 3])
        scenario.pass(.seconds(40))
        #expect(scenario.arrived.last == 6)
    }

    // MARK: No answer

    @Test(arguments: [HTTP2Options.UnknownPolicy.report, .resend])
    func `a request without an answer is unknown`(policy: HTTP2Options.UnknownPolicy) {
        let scenario = Scenario { $0.onUnknown = policy }
        scenario.submit(1...2)
        let first = scenario.connect()
        scenario.pass(.seconds(5))
        scenario.answer(2)
        scenario.pass(.seconds(6))
        if policy == .report {
            #expect(scenario.outcome(1) == .uncertain(.noAnswer))
        } else {
            // APNs still answers on this connection, so it is used again.
            #expect(scenario.arrived == [1, 2, 1])
            scenario.answer(1)
            #expect(scenario.outcome(1) == .accepted(.confirmed))
        }
        #expect(scenario.links[first] != nil)
        #expect(scenario.dialCount == 1)
    }

    @Test func `a silent connection is left, and the next one gets the work`() {
        let scenario = Scenario { $0.onUnknown = .resend }
        scenario.submit(1...1)
        let first = scenario.connect()
        scenario.pass(.seconds(11))
        #expect(scenario.finished == [first])
        scenario.connect()
        scenario.answer(1)
        #expect(scenario.outcome(1) == .accepted(.confirmed))
    }

    @Test func `a connection that speaks and answers nothing is left, and the next one gets the work`() {
        let scenario = Scenario()
        scenario.submit(1...1)
        let first = scenario.connect()
        for _ in 0..<11 {
            scenario.pass(.seconds(1))
            scenario.say(RawFrame.ping, on: first)
        }
        #expect(scenario.outcome(1) == .uncertain(.noAnswer))
        #expect(scenario.finished == [first])
        scenario.submit(2...2)
        scenario.connect()
        scenario.answer(2)
        #expect(scenario.outcome(2) == .accepted(.confirmed))
    }

    @Test func `what is sent again under resend ends as uncertain when its deadline comes`() {
        let scenario = Scenario {
            $0.onUnknown = .resend
            $0.deadline = .seconds(15)
        }
        scenario.submit(1...1)
        scenario.connect()
        scenario.pass(.seconds(16))
        #expect(scenario.outcome(1) == .uncertain(.notRepeated))
    }

    @Test func `a copy that may have arrived is not rejected by an answer about the service`() {
        let scenario = Scenario { $0.onUnknown = .resend }
        scenario.submit(1...2)
        scenario.connect()
        scenario.end()
        scenario.connect()
        scenario.answer(1, status: 500, "InternalServerError")
        scenario.answer(2, status: 410, "Unregistered")
        #expect(scenario.outcome(1) == .uncertain(.notRepeated))
        #expect(self.isRejected(scenario.outcome(2), .unregistered))
    }

    @Test func `an answer counts also when its request is not flushed yet`() {
        // The peer reads and answers the last frame of the request before any other frame is written.
        let scenario = Scenario()
        scenario.submit(1...1)
        scenario.connect()
        scenario.answer(1)
        scenario.stick()
        scenario.submit(2...2)
        scenario.write(frames: 2)
        scenario.say(RawFrame.headers(3, [(":status", "200")], isLast: true))
        #expect(scenario.outcome(2) == .accepted(.confirmed))
    }

    @Test func `a status that came is the answer, whatever comes after it`() {
        let scenario = Scenario()
        scenario.submit(1...3)
        scenario.connect()
        scenario.say(RawFrame.headers(1, [(":status", "200")]))
        scenario.say(RawFrame.headers(3, [(":status", "200")]))
        scenario.say(RawFrame.headers(5, [(":status", "200")]))
        scenario.say(RawFrame.reset(1, 2))
        #expect(scenario.outcome(1) == .accepted(.confirmed))
        scenario.end()
        #expect(scenario.outcome(2) == .accepted(.confirmed))
        #expect(scenario.outcome(3) == .accepted(.confirmed))
    }

    @Test func `a request that was not sent whole was not processed`() {
        let scenario = Scenario()
        scenario.settings.initialWindowSize = 4
        scenario.settings.updatesWindows = false
        // The first request goes out before SETTINGS give the server's low limit.
        scenario.submit(1...1)
        scenario.connect()
        scenario.answer(1)
        scenario.submit(2...2)
        #expect(scenario.arrived == [1])
        scenario.say(RawFrame.reset(3, 2))
        #expect(scenario.outcome(2) == nil)
        scenario.pass(.seconds(61))
        #expect(scenario.outcome(2) == .undelivered(.noConnection))
    }

    // MARK: The circuit breaker

    @Test func `many refusals in a row stop sending, and a trial resumes it`() {
        let scenario = Scenario {
            $0.maxStreams = 1
            $0.circuitBreaker?.threshold = 3
            $0.circuitBreaker?.trial = 2
        }
        scenario.submit(1...20)
        scenario.connect()
        for name in 1...3 as ClosedRange<UInt32> { scenario.answer(name, status: 400, "BadDeviceToken") }
        #expect(scenario.arrived == [1, 2, 3])
        #expect(scenario.errors == [.tooManyRejections])
        scenario.pass(.seconds(1))
        #expect(scenario.arrived == [1, 2, 3, 4])
        scenario.answer(4, status: 400, "BadDeviceToken")
        #expect(scenario.arrived == [1, 2, 3, 4, 5])
        scenario.answer(5, status: 400, "BadDeviceToken")
        scenario.pass(.milliseconds(900))
        #expect(scenario.arrived.count == 5)
        scenario.pass(.seconds(2))
        while !scenario.requests.isEmpty { scenario.answerAll() }
        #expect(scenario.arrived.count == 20)
    }

    @Test func `refused credentials stop sending, and what is late then says so`() {
        let scenario = Scenario {
            $0.circuitBreaker?.threshold = 2
            $0.circuitBreaker?.pause = .seconds(100) ... .seconds(100)
            $0.maxStreams = 1
        }
        scenario.submit(1...4)
        scenario.connect()
        scenario.answer(1, status: 403, "BadCertificate")
        scenario.answer(2, status: 403, "BadCertificate")
        #expect(scenario.errors == [.credentialsRejected])
        scenario.pass(.seconds(61))
        #expect(scenario.outcome(3) == .undelivered(.credentials))
    }

    @Test func `credentials that were never good are told of after ten refusals, and good ones after a hundred`() {
        for isGood in [false, true] {
            let scenario = Scenario { $0.maxStreams = 1 }
            scenario.submit(1...200)
            scenario.connect()
            if isGood { scenario.answer(1) }
            for _ in 0..<(isGood ? 99 : 9) { scenario.answerFirst(1, status: 403, "InvalidProviderToken") }
            #expect(scenario.errors.isEmpty)
            scenario.answerFirst(1, status: 403, "InvalidProviderToken")
            #expect(scenario.errors == [.credentialsRejected])
        }
    }

    @Test func `status 410 is no refusal of that kind`() {
        let scenario = Scenario {
            $0.circuitBreaker?.threshold = 2
            $0.maxStreams = 1
        }
        scenario.submit(1...10)
        scenario.connect()
        while !scenario.requests.isEmpty { scenario.answerAll(status: 410, "Unregistered") }
        #expect(scenario.arrived.count == 10)
        #expect(scenario.errors.isEmpty)
    }

    @Test func `a pause that is over while nothing can be written makes nothing spin`() {
        let scenario = Scenario {
            $0.circuitBreaker?.threshold = 1
            $0.maxStreams = 1
        }
        scenario.submit(1...3)
        scenario.connect()
        scenario.answer(1, status: 400, "BadDeviceToken")
        scenario.pause(true)
        scenario.pass(.seconds(10))
        scenario.pause(false)
        #expect(scenario.arrived == [1, 2])
    }

    @Test func `pauses begin at 1 s and double up to 30 s, each a quarter shorter at most`() {
        let scenario = Scenario {
            $0.deadline = .seconds(3600)
            $0.maxStreams = 1
        }
        scenario.submit(1...2000)
        scenario.connect()
        var pauses: [TimeAmount] = []
        while pauses.count < 8 {
            guard !scenario.requests.isEmpty else { break }
            let start = scenario.now
            while !scenario.requests.isEmpty { scenario.answerAll(status: 400, "BadDeviceToken") }
            scenario.passUntilSomethingArrives(within: .seconds(40))
            pauses.append(scenario.now - start)
        }
        let longest: [TimeAmount] = [1, 2, 4, 8, 16, 30, 30, 30].map { .seconds($0) }
        for (pause, most) in zip(pauses, longest) {
            #expect(pause <= most && pause >= most - .nanoseconds(most.nanoseconds / 4), "\(pauses)")
        }
        #expect(pauses.count == longest.count)
        #expect(scenario.arrived.count == 100 + 7 * 50 + 1)
    }

    // MARK: Before sending

    @Test func `what APNs would refuse is refused before it is sent`() {
        let scenario = Scenario(bundleID: nil)
        scenario.submit([1, 2, 3]) { name in
            let topic = name == 1 ? "com.example.app" : "com.example.app.voip"
            return (try PushNotification(json: Scenario.payload(name), topic: topic, pushType: .voip), [1])
        }
        scenario.connect()
        #expect(scenario.outcome(1) == .rejected(Rejection(reason: .badTopic, origin: .ferry)))
        #expect(scenario.arrived == [2, 3])
    }

    @Test func `a collapse id that HTTP cannot carry is refused before it is sent`() {
        let scenario = Scenario()
        scenario.submit([1, 2, 3]) { name in
            let collapseID = name == 2 ? "two words" : name == 1 ? " news" : "news "
            return (try PushNotification(json: Scenario.payload(name), collapseID: collapseID), [1])
        }
        scenario.connect()
        #expect(scenario.outcome(1) == .rejected(Rejection(reason: .badCollapseID, origin: .ferry)))
        #expect(scenario.outcome(3) == scenario.outcome(1))
        #expect(scenario.arrived == [2])
        #expect(scenario.requests.first?.fields["apns-collapse-id"] == "two words")
    }

    @Test func `what has expired is not sent`() {
        let scenario = Scenario()
        scenario.submit(1...1, expiration: scenario.epochSeconds - 1)
        scenario.submit(2...2, expiration: 0)
        scenario.connect()
        #expect(scenario.outcome(1) == .expired)
        #expect(scenario.arrived == [2])
    }

    @Test func `an awaited notification is withdrawn while it waits, and not when it is under way`() {
        let scenario = Scenario()
        scenario.settings.maxConcurrentStreams = 1
        scenario.submit([1, 2], isAwaited: true) { (try PushNotification(json: Scenario.payload($0)), [1]) }
        scenario.submit(3...3)
        scenario.connect()
        scenario.withdraw(1, 2, 3)
        #expect(scenario.outcome(1) == nil)
        #expect(scenario.outcome(2) == .undelivered(.cancelled))
        #expect(scenario.outcome(3) == nil)
    }

    @Test func `what is late behind what is not ends in time all the same`() {
        let scenario = Scenario {
            $0.deadline = .seconds(20)
            $0.connectionRetryLimit = nil
        }
        scenario.submit(1...1)
        scenario.connect()
        scenario.pass(.seconds(8))
        scenario.submit(2...2)
        scenario.reset(2, 7)
        scenario.reset(1, 7)
        scenario.end()
        scenario.pass(.seconds(13))
        #expect(scenario.outcome(1) == .undelivered(.noConnection))
        #expect(scenario.outcome(2) == nil)
    }

    // MARK: HPACK

    @Test func `path and authorization are in no table, apns-id is once, and later requests are small`() throws {
        let scenario = Scenario(usesTokens: true)
        scenario.submit(1...1)
        let id = scenario.connect()
        let first = try #require(FieldLines(of: scenario.links[id]?.bytes, names: scenario.requests.first?.names))
        #expect(first.kinds[":path"] == .literal)
        #expect(first.kinds["authorization"] == .neverIndexed)
        #expect(first.kinds["apns-id"] == .incremental)
        scenario.answer(1)
        let before = scenario.links[id]?.bytes.count ?? 0
        scenario.submit(2...2)
        let bytes = scenario.links[id]?.bytes.dropFirst(before)
        let second = try #require(FieldLines(of: bytes, names: scenario.requests.first?.names))
        #expect(second.kinds[":path"] == .literal)
        #expect(second.kinds["authorization"] == .neverIndexed)
        #expect(second.kinds["apns-id"] == .neverIndexed)
        #expect(second.kinds["apns-topic"] == .indexed)
        #expect(second.kinds[":authority"] == .indexed)
        #expect(second.spelledOut.isEmpty)
        #expect(second.byteCount < first.byteCount - 30)
    }

    @Test func `an expiration that stays is in the table, and one that changes does not fill it`() throws {
        let scenario = Scenario()
        scenario.submit(1...1)
        let id = scenario.connect()
        var kinds: [FieldLines.Kind?] = []
        for (name, expiration) in zip(2..., [100, 100, 200, 300, 300, 300] as [UInt32]) {
            let before = scenario.links[id]?.bytes.count ?? 0
            let date = Expiration(epochSeconds: 4_000_000_000 + expiration)
            scenario.submit([UInt32(name)]) {
                (try PushNotification(json: Scenario.payload($0), expiration: date), [1])
            }
            let bytes = scenario.links[id]?.bytes.dropFirst(before)
            let block = try #require(FieldLines(of: bytes, names: scenario.requests.last?.names))
            #expect(block.spelledOut == (name == 2 ? ["apns-expiration"] : []))
            kinds.append(block.kinds["apns-expiration"])
        }
        #expect(kinds == [.incremental, .indexed, .neverIndexed, .neverIndexed, .incremental, .indexed])
    }

    @Test func `a collapse id is known by name from its first use on`() throws {
        let scenario = Scenario()
        scenario.submit(1...1)
        let id = scenario.connect()
        for name in 2...3 as ClosedRange<UInt32> {
            let before = scenario.links[id]?.bytes.count ?? 0
            scenario.submit([name]) { (try PushNotification(json: Scenario.payload($0), collapseID: "id\($0)"), [1]) }
            let bytes = scenario.links[id]?.bytes.dropFirst(before)
            let block = try #require(FieldLines(of: bytes, names: scenario.requests.last?.names))
            #expect(block.spelledOut == (name == 2 ? ["apns-collapse-id"] : []))
        }
    }
}

import FerryBinary
import FerryCore
import FerryMachine
import NIOCore
import Testing

@Suite struct ConnectionTests {
    @Test func `connections come with work only`() {
        let scenario = Scenario()
        #expect(scenario.dials.isEmpty)
        #expect(scenario.nextDeadline == nil)
        scenario.submit(1...1)
        #expect(scenario.dials.count == 1)
    }

    @Test func `failed connections wait longer each time, with jitter and a cap`() {
        let scenario = Scenario {
            $0.backOff = .milliseconds(100) ... .seconds(2)
            $0.connectionRetryLimit = nil
        }
        scenario.submit(1...1)
        for _ in 0..<12 { scenario.failDial() }
        scenario.connect()
        let waits = zip(scenario.dialTimes.dropFirst(), scenario.dialTimes).map { $0 - $1 }
        var expected: TimeAmount = .milliseconds(100)
        for wait in waits {
            #expect(wait <= expected)
            #expect(wait >= .nanoseconds(expected.nanoseconds / 4 * 3))
            expected = min(.nanoseconds(expected.nanoseconds * 2), .seconds(2))
        }
    }

    @Test func `a handshake alone does not end the back-off`() {
        let scenario = Scenario { $0.backOff = .seconds(1) ... .seconds(60) }
        scenario.submit(1...1)
        for _ in 0..<4 {
            scenario.connect()
            scenario.end()
        }
        let waits = zip(scenario.dialTimes.dropFirst(), scenario.dialTimes).map { $0 - $1 }
        #expect(waits.last.map { $0 >= .seconds(3) } == true)
    }

    @Test func `work after the retry limit waits for the first back-off only`() {
        let scenario = Scenario { $0.connectionRetryLimit = 8 }
        scenario.submit(1...1)
        while scenario.errors.isEmpty { scenario.failDial() }
        #expect(scenario[1] == .undelivered(.noConnection))
        scenario.submit(2...2)
        scenario.connect(within: .milliseconds(250))
        #expect(scenario.send() == [2])
    }

    @Test func `what was presumed accepted on a connection makes the next wait the first again`() {
        let scenario = Scenario { $0.backOff = .seconds(1) ... .seconds(60) }
        scenario.submit(1...1)
        scenario.failDial()
        scenario.failDial()
        scenario.connect()
        scenario.send()
        scenario.pass(.seconds(2))
        scenario.submit(2...2)
        scenario.end()
        #expect(scenario.dials.isEmpty)
        scenario.connect(within: .seconds(1))
        #expect(scenario.send() == [2])
    }

    @Test func `what was proved on a connection lets the next one follow at once`() {
        let scenario = Scenario { $0.backOff = .seconds(1) ... .seconds(60) }
        scenario.open(1...2)
        scenario.respond(0, to: 1)
        scenario.end()
        scenario.connect(within: .zero)
        #expect(scenario.send() == [2])
    }

    @Test func `at most 10 connections are dialled in any second`() {
        let scenario = Scenario { $0.firstSequence = 0 }
        scenario.submit(1...60)
        for name in 1...50 as ClosedRange<UInt32> {
            scenario.connect()
            scenario.send()
            scenario.respond(8, to: name)
        }
        #expect(scenario.dialTimes.count >= 50)
        for (index, time) in scenario.dialTimes.enumerated() where index >= 10 {
            #expect(time - scenario.dialTimes[index - 10] >= .seconds(1))
        }
    }

    @Test func `connectionRetryLimit failures are allowed, one more gives up what is queued`() {
        let scenario = Scenario { $0.connectionRetryLimit = 3 }
        scenario.submit(1...2)
        for _ in 0..<3 { scenario.failDial() }
        #expect(scenario.outcomes.isEmpty)
        scenario.failDial()
        #expect(scenario.all(1...2, are: .undelivered(.noConnection)))
        #expect(scenario.errors.map(\.code) == [.connectionRetryLimit])
        // The client has not ended: new work gets its connection.
        scenario.open(3...3)
        scenario.pass(.seconds(2))
        #expect(scenario[3] == .presumed)
    }

    @Test func `connectionRetryTime allows any number of failures, and the last attempt is made when it is over`() {
        let scenario = Scenario {
            $0.connectionRetryLimit = nil
            $0.connectionRetryTime = .seconds(30)
        }
        scenario.submit(1...2)
        for _ in 0..<100 where scenario.outcomes.isEmpty { scenario.failDial() }
        #expect(scenario.all(1...2, are: .undelivered(.noConnection)))
        #expect(scenario.errors.map(\.code) == [.connectionRetryLimit])
        let times = scenario.dialTimes
        #expect(times.count > 5)
        #expect(times.last.map { $0 - times[0] } == .seconds(30))
        // The next work gets the same time again.
        scenario.submit(3...3)
        scenario.failDial()
        #expect(scenario.errors.count == 1)
    }

    @Test func `work after refused credentials has the whole time of connectionRetryTime`() {
        let scenario = Scenario {
            $0.connectionRetryLimit = nil
            $0.connectionRetryTime = .seconds(30)
        }
        scenario.submit(1...1)
        scenario.failDial(.credentialsRejected(ProviderError(.credentialsRejected, "refused")))
        scenario.pass(.hours(2))
        scenario.submit(2...2)
        scenario.failDial()
        #expect(scenario[2] == nil)
        for _ in 0..<100 where scenario[2] == nil { scenario.failDial() }
        #expect(scenario[2] == .undelivered(.noConnection))
    }

    @Test func `refused credentials fail everything at once, with one error`() {
        let error = ProviderError(.credentialsRejected, "refused")
        let scenario = Scenario {
            $0.autoAdjustCache = false
            $0.cacheLength = 3
            $0.connectionRetryLimit = 1
        }
        scenario.submit(1...5)
        scenario.failDial()
        scenario.connect()
        scenario.send()
        scenario.end(.credentialsRejected(error))
        #expect(scenario.all(1...5, are: .undelivered(.credentials)))
        #expect(scenario.errors.map(\.code) == [.credentialsRejected])
        #expect(scenario.dials.isEmpty)
        scenario.submit(6...6)
        #expect(scenario.dials.isEmpty)
        scenario.failDial(.credentialsRejected(error))
        #expect(scenario[6] == .undelivered(.credentials))
    }

    @Test(arguments: [true, false])
    func `credentials that are refused in a search end it`(retries: Bool) {
        let scenario = Scenario { $0.retriesLastingErrors = retries }
        scenario.open(1...20)
        // Names no notification, so a search begins.
        scenario.receive(Scenario.response(8, 0))
        scenario.connect()
        #expect(scenario.send().count < 20)
        scenario.end(.credentialsRejected(ProviderError(.credentialsRejected, "refused")))
        scenario.submit(21...40)
        scenario.connect()
        // A search would hold all but a few back. What was refused with the credentials goes out again if they are retried.
        #expect(scenario.send() == (retries ? Array(1...40) : Array(21...40)))
        #expect(retries || scenario[1] != nil)
    }

    @Test func `what may have arrived on an earlier connection is uncertain when credentials are refused`() {
        let scenario = Scenario()
        scenario.open(1...1)
        scenario.reset()
        scenario.submit(2...2)
        scenario.connect()
        scenario.send()
        scenario.end(.credentialsRejected(ProviderError(.credentialsRejected, "refused")))
        #expect(scenario.outcomes(of: 1...2) == [.uncertain(.notRepeated), .undelivered(.credentials)])
    }

    @Test func `an idle connection is half-closed and reopened for work only`() {
        let scenario = Scenario { $0.idleTimeout = .seconds(60) }
        scenario.open(1...1)
        let id = scenario.current
        scenario.pass(.seconds(59))
        #expect(scenario.finished.isEmpty)
        scenario.pass(.seconds(2))
        #expect(scenario.finished == [id])
        let timeouts = scenario.events.count { if case .timeout = $0 { true } else { false } }
        #expect(timeouts == 1)
        scenario.end()
        scenario.pass(.hours(5))
        #expect(scenario.dials.isEmpty)
        scenario.submit(2...2)
        #expect(scenario.dials.count == 1)
    }

    @Test func `work that comes while an idle connection is being closed gets a new one`() {
        let scenario = Scenario { $0.idleTimeout = .seconds(60) }
        scenario.open(1...1)
        scenario.pass(.seconds(61))
        scenario.submit(2...2)
        #expect(scenario.closed.count == 1)
        scenario.connect()
        #expect(scenario.send() == [2])
    }

    @Test func `a connection with unsettled notifications is not idle`() {
        let scenario = Scenario { $0.idleTimeout = .seconds(60) }
        scenario.peerAcknowledges = false
        scenario.open(1...1)
        scenario.pass(.hours(1))
        #expect(scenario.finished.isEmpty)
    }

    // MARK: Several connections

    @Test func `a device has one connection, and its order is kept`() {
        let scenario = Scenario { $0.maxConnections = 4 }
        for round in 0..<5 as Range<UInt32> {
            scenario.submit(Array((round * 20 + 1)...(round * 20 + 20)), token: { Scenario.token(7000 + $0 % 20) })
        }
        var devices: [ConnectionID: Set<UInt32>] = [:]
        while !scenario.dials.isEmpty {
            let id = scenario.connect()
            scenario.send(on: id)
            devices[id] = Set(scenario.frames.filter { $0.connection == id }.compactMap(\.name))
        }
        #expect(scenario.frames.count == 100)
        let all = devices.values.flatMap { $0 }
        #expect(Set(all).count == all.count)
        #expect(all.count == 20)
    }

    @Test func `a lane without work takes some from one that is blocked, and only then`() {
        let scenario = Scenario { $0.maxConnections = 2 }
        scenario.submit(1...200)
        let first = scenario.connect()
        let second = scenario.connect()
        let own = scenario.send(on: first)
        // The other lane is not blocked: it has only not written yet.
        #expect(scenario.send(on: first).isEmpty)
        scenario.writability(false, on: second)
        let spilled = scenario.send(on: first)
        #expect(!own.isEmpty && !spilled.isEmpty)
        #expect(Set(own + spilled) == Set(1...200))
    }

    @Test func `a lane that waits for permission to dial gives its work to those that are open`() {
        let scenario = Scenario { $0.maxConnections = 12 }
        scenario.submit(1...1200)
        #expect(scenario.dials.count == 10)
        for id in (0..<10).map({ _ in scenario.connect(within: .zero) }) { scenario.send(on: id) }
        #expect(scenario.queued == 0)
        #expect(Set(scenario.frames.compactMap(\.name)) == Set(1...1200))
        #expect(scenario.frames.count == 1200)
    }
}

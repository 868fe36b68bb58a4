import Ferry
import FerryAdmin
import FerryCore
import FerryGateway
import FerryOpenSSL
import FerryProxyTestSupport
import FerryTerminal
import FerryTesting
import Foundation
import Testing

@testable import FerryCommand

/// Upstreams that are tried without a push, with and without a proxy.
@Suite(.timeLimit(.minutes(10))) struct GatewayUpstreamTrialTests {
    private static let authorization = "Basic ZmVycnk6b3BlbiBzZXNhbWU="

    /// Calls `body` with the upstream of a simulated APNs as a JSON object that lacks its end.
    private func withAPNs(_ body: (GatewayHarness, SimulatedAPNs, _ upstream: String) async throws -> Void) async throws
    {
        try await GatewayHarness.run { harness in
            let apns = try await SimulatedAPNs.start(.init(credentials: harness.credentials))
            let upstream = """
                {"to": "localhost:\(apns.port)", "ca": "ca.pem", "p8": "key.p8", \
                "keyID": "\(harness.credentials.keyID)", "teamID": "\(harness.credentials.teamID)"
                """
            do {
                try await body(harness, apns, upstream)
            } catch {
                await apns.stop()
                throw error
            }
            await apns.stop()
        }
    }

    private func check(
        _ harness: GatewayHarness,
        _ upstream: String,
        shell: String? = nil
    ) async throws -> FerryProgram.Output {
        let configuration = try harness.configuration(["upstreams": "{\"apns\": \(upstream)}"])
        return try await FerryProgram.run(
            ["gateway", "--config", configuration, "--check", "--connect"],
            in: harness.directory,
            shell: shell
        )
    }

    @Test func `a check that connects says that an upstream can be used, and pushes nothing`() async throws {
        try await self.withAPNs { harness, _, upstream in
            let output = try await self.check(harness, "\(upstream)}")
            #expect(output.status == 0)
            #expect(output.result.contains("upstreams.apns: localhost:"))
            #expect(output.result.contains("it allows 1 request at a time, and answered a PING"))
            #expect(output.result.contains("only a push proves the provider token"))
            #expect(output.result.hasSuffix("gateway.json: good\n"))
        }
    }

    @Test func `a check that connects names the upstream that cannot be used`() async throws {
        try await GatewayHarness.run { harness in
            let output = try await FerryProgram.run(
                ["gateway", "--config", try harness.configuration(), "--check", "--connect"],
                in: harness.directory
            )
            #expect(output.status == 3)
            #expect(output.messages.contains("upstreams.apns: it cannot be used: No connection to localhost:1"))
            #expect(output.result.isEmpty)
        }
    }

    @Test func `connect without check is bad usage`() async throws {
        try await GatewayHarness.run { harness in
            let output = try await FerryProgram.run(
                ["gateway", "--config", try harness.configuration(), "--connect"],
                in: harness.directory
            )
            #expect(output.status == 2)
            #expect(output.messages == "ferry: --connect needs --check.\n")
        }
    }

    @Test func `a start says at once which upstream cannot be used`() async throws {
        try await GatewayHarness.run { harness in
            let (program, _) = try await harness.start()
            let sentence = "upstreams.apns: it cannot be used now: No connection to localhost:1"
            #expect(try await eventually { try program.messages.contains(sentence) })
        }
    }

    @Test func `the status shows an upstream whose trial at the start failed, with its error and cure`() async throws {
        try await GatewayHarness.run { harness in
            let (program, _) = try await harness.start(["admin": #"{"socket": "admin"}"#])
            #expect(try await eventually { try program.messages.contains("it cannot be used now") })
            let status = ["gateway", "status", "--socket", harness.directory.path("admin"), "--json"]
            var output = try await FerryProgram.run(status, in: harness.directory)
            // An answer may be a snapshot from before the trial.
            for _ in 0..<20 where output.status != 1 {
                output = try await FerryProgram.run(status, in: harness.directory)
            }
            #expect(output.status == 1)
            let shown = try JSONDecoder().decode(GatewayStatus.self, from: Data(output.result.utf8))
            let upstream = try #require(shown.upstreams.first)
            let error = "The trial of the connection failed: No connection to localhost:1: "
            #expect(upstream.state == .failing)
            #expect(upstream.lastError?.sentence.hasPrefix(error) == true)
            #expect(shown.condition.level == .down)
            #expect(shown.condition.sentence.hasPrefix("Not delivering to apns. \(error)"))
        }
    }

    @Test func `a trial that failed is repeated until the upstream can be used, which is said`() async throws {
        try await self.withAPNs { harness, apns, upstream in
            let configuration = try harness.configuration(["upstreams": "{\"apns\": \(upstream)}}"])
            let port = apns.port
            await apns.stop()
            let watch = UpstreamWatch()
            let lines = Locked<[String]>([])
            let trials = UpstreamTrials(try GatewayCommand.plan(of: configuration))
            let pace = TrialPace(look: .milliseconds(5), longest: .milliseconds(5))
            let tasks = trials.start(["apns": watch], pace: pace) { message in
                lines.withLock { $0.append(message.text) }
            }
            #expect(try await eventually { watch.awaitsTrial })
            var simulated = SimulatedAPNs.Configuration(credentials: harness.credentials)
            simulated.port = port
            let again = try await SimulatedAPNs.start(simulated)
            #expect(try await eventually { lines.withLock { $0.last?.hasSuffix("it can be used now") } == true })
            #expect(!watch.awaitsTrial && watch.figures.state == .untried)
            for task in tasks.values { task.cancel() }
            let said = lines.withLock { $0 }
            #expect(said.first?.contains("upstreams.apns: it cannot be used now: ") == true)
            #expect(said.last == "ferry: upstreams.apns: it can be used now")
            await again.stop()
        }
    }

    @Test func `an upstream whose connection is lost while nobody sends is tried, and its failure ends`() async throws {
        try await self.withAPNs { harness, _, upstream in
            let configuration = try harness.configuration(["upstreams": "{\"apns\": \(upstream)}}"])
            let watch = UpstreamWatch()
            let lines = Locked<[String]>([])
            let trials = UpstreamTrials(try GatewayCommand.plan(of: configuration))
            let tasks = trials.start(["apns": watch], pace: TrialPace(look: .milliseconds(5))) { message in
                lines.withLock { $0.append(message.text) }
            }
            var opened = ProviderActivity()
            opened.connected = 1
            opened.standing.connections = 1
            watch.observed(opened)
            var lost = ProviderActivity()
            lost.disconnected = 1
            lost.failures[.connectionLost] = 1
            watch.observed(lost)
            #expect(try await eventually { !watch.awaitsTrial })
            #expect(watch.figures.state == .untried)
            #expect(
                try await eventually { lines.withLock { $0 } == ["ferry: upstreams.apns: it can be used now"] }
            )
            for task in tasks.values { task.cancel() }
        }
    }

    @Test func `after a long outage, a connection that is lost at once is followed by a trial`() async throws {
        try await self.withAPNs { harness, apns, upstream in
            let configuration = try harness.configuration(["upstreams": "{\"apns\": \(upstream)}}"])
            let port = apns.port
            await apns.stop()
            var pace = TrialPace(look: .milliseconds(5), longest: .seconds(3600))
            for _ in 0..<30 { pace.failed(at: .now) }
            let watch = UpstreamWatch()
            let lines = Locked<[String]>([])
            let trials = UpstreamTrials(try GatewayCommand.plan(of: configuration))
            let tasks = trials.start(["apns": watch], pace: pace) { message in
                lines.withLock { $0.append(message.text) }
            }
            #expect(try await eventually { watch.awaitsTrial })
            var simulated = SimulatedAPNs.Configuration(credentials: harness.credentials)
            simulated.port = port
            let again = try await SimulatedAPNs.start(simulated)
            var opened = ProviderActivity()
            opened.connected = 1
            opened.standing.connections = 1
            watch.observed(opened)
            var lost = ProviderActivity()
            lost.disconnected = 1
            lost.failures[.connectionLost] = 1
            watch.observed(lost)
            #expect(try await eventually { lines.withLock { $0.last?.hasSuffix("it can be used now") } == true })
            for task in tasks.values { task.cancel() }
            await again.stop()
        }
    }

    @Test func `a trial shows that the upstream refuses the certificate, before anybody sends`() async throws {
        try await self.withAPNs { harness, apns, _ in
            let stranger = try ThrowAwayCA(name: "Another").client(topic: GatewayHarness.topic)
            _ = try harness.directory.write("stranger.pem", stranger.certificateChainPEM)
            _ = try harness.directory.write("stranger-key.pem", stranger.privateKeyPEM())
            let upstream = """
                {"to": "localhost:\(apns.port)", "ca": "ca.pem", "cert": "stranger.pem", "key": "stranger-key.pem"}
                """
            let configuration = try harness.configuration(["upstreams": "{\"apns\": \(upstream)}"])
            let watch = UpstreamWatch()
            let trials = UpstreamTrials(try GatewayCommand.plan(of: configuration))
            let tasks = trials.start(["apns": watch], pace: TrialPace(look: .milliseconds(5))) { _ in }
            #expect(try await eventually { watch.figures.state == .trialFailed(.credentialsRejected) })
            for task in tasks.values { task.cancel() }
        }
    }

    @Test func `an upstream is reached through its proxy, with the password of a file`() async throws {
        try await self.withAPNs { harness, _, upstream in
            _ = try harness.directory.write("password", "open sesame\n")
            try await TestProxy.run(.tunnel(authorization: Self.authorization)) { proxy in
                let way = #""proxy": "127.0.0.1:\#(proxy.port)", "proxyUser": "ferry""#
                let output = try await self.check(harness, "\(upstream), \(way), \"proxyPasswordFile\": \"password\"}")
                #expect(output.status == 0)
                #expect(output.result.contains("answers through the proxy 127.0.0.1:\(proxy.port)"))
                #expect(proxy.requests.count == 1)
            }
        }
    }

    @Test(
        arguments: [
            (.tunnel(authorization: Self.authorization), "wants a user name and a password (status 407)"),
            (.say("HTTP/1.1 403 Forbidden\r\n\r\n", closes: true), "status 403"),
            (.dieInTheMiddle, "it ended before TLS was established"),
        ] as [(TestProxy.Behaviour, String)]
    )
    func `each failure of a proxy says which it is`(behaviour: TestProxy.Behaviour, words: String) async throws {
        try await self.withAPNs { harness, _, upstream in
            try await TestProxy.run(behaviour) { proxy in
                let output = try await self.check(harness, "\(upstream), \"proxy\": \"127.0.0.1:\(proxy.port)\"}")
                #expect(output.status == 3)
                #expect(output.messages.contains("proxy 127.0.0.1:\(proxy.port)"))
                #expect(output.messages.contains(words))
            }
        }
    }

    @Test func `the variables name the proxy of an upstream without one, which is said`() async throws {
        try await self.withAPNs { harness, _, upstream in
            try await TestProxy.run(.tunnel()) { proxy in
                let variable = "HTTPS_PROXY=http://127.0.0.1:\(proxy.port)"
                let through = try await self.check(harness, "\(upstream)}", shell: "\(variable) exec \"$@\"")
                #expect(through.status == 0)
                #expect(through.messages.contains("upstreams.apns: connections to localhost go through the proxy"))
                #expect(through.messages.contains("which HTTPS_PROXY names"))
                #expect(proxy.requests.count == 1)
                let shell = "\(variable) NO_PROXY=localhost exec \"$@\""
                let past = try await self.check(harness, "\(upstream)}", shell: shell)
                #expect(past.status == 0)
                #expect(!past.messages.contains("proxy"))
                #expect(proxy.requests.count == 1)
            }
        }
    }

    @Test func `the doctor examines each upstream of a gateway, through its proxy`() async throws {
        try await self.withAPNs { harness, _, upstream in
            try await TestProxy.run(.tunnel()) { proxy in
                let upstreams = "{\"apns\": \(upstream), \"proxy\": \"127.0.0.1:\(proxy.port)\"}}"
                let configuration = try harness.configuration(["upstreams": upstreams])
                let output = try await FerryProgram.run(["doctor", "--gateway", configuration], in: harness.directory)
                #expect(output.status == 0)
                #expect(output.result.hasPrefix("upstreams.apns:\n"))
                #expect(output.result.contains("The proxy 127.0.0.1:\(proxy.port) opens a tunnel to localhost:"))
                #expect(output.result.contains("It speaks HTTP/2"))
            }
        }
    }

    @Test func `the doctor has a cure for a proxy that wants a password`() async throws {
        try await self.withAPNs { harness, _, upstream in
            try await TestProxy.run(.tunnel(authorization: Self.authorization)) { proxy in
                let upstreams = "{\"apns\": \(upstream), \"proxy\": \"127.0.0.1:\(proxy.port)\"}}"
                let configuration = try harness.configuration(["upstreams": upstreams])
                let output = try await FerryProgram.run(
                    ["doctor", "--json", "--gateway", configuration],
                    in: harness.directory
                )
                #expect(output.status == 3)
                #expect(output.result.contains("\"problem\":\"proxyWantsPassword\""))
            }
        }
    }
}

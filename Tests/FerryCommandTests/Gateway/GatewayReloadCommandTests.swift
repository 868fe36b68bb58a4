import Ferry
import FerryOpenSSL
import FerryProxyTestSupport
import FerryTesting
import Foundation
import NIOCore
import NIOPosix
import Testing

/// Reloads of a gateway that runs, by command and by signal.
@Suite(.timeLimit(.minutes(10))) struct GatewayReloadCommandTests {
    private static let admin = ["admin": #"{"socket": "admin"}"#] as [String: String?]

    private func with(
        _ body: (GatewayHarness, SimulatedAPNs) async throws -> Void
    ) async throws {
        try await GatewayHarness.run { harness in
            let apns = try await SimulatedAPNs.start(.init(credentials: harness.credentials))
            try await body(harness, apns)
            await apns.stop()
        }
    }

    private func reload(_ harness: GatewayHarness) async throws -> FerryProgram.Output {
        try await FerryProgram.run(
            ["gateway", "reload", "--socket", harness.directory.path("admin"), "--json"],
            in: harness.directory
        )
    }

    private func status(_ harness: GatewayHarness) async throws -> [String: Any]? {
        let output = try await FerryProgram.run(
            ["gateway", "status", "--socket", harness.directory.path("admin"), "--json"],
            in: harness.directory
        )
        return try JSONSerialization.jsonObject(with: Data(output.result.utf8)) as? [String: Any]
    }

    @Test func `a new client may come after a reload, and a removed one may not`() async throws {
        try await self.with { harness, apns in
            let fingerprint = String(repeating: "0a", count: 32)
            let other = #"[{"name": "news", "fingerprints": ["\#(fingerprint)"], "topics": ["x"]}]"#
            let (gateway, port) = try await harness.start(
                port: apns.port,
                Self.admin.merging(["clients": other]) { $1 }
            )
            #expect(try await harness.push(1...1, to: port).status != 0)
            _ = try harness.configuration(port: apns.port, Self.admin)
            let reloaded = try await self.reload(harness)
            #expect(reloaded.status == 0, "\(reloaded)")
            #expect(reloaded.result.contains(#""added":["shop"]"#) && reloaded.result.contains(#""removed":["news"]"#))
            #expect(try await harness.push(2...5, to: port).status == 0)
            #expect(try await eventually { apns.counts.accepted == 4 })
            gateway.terminate()
            #expect(try await gateway.output().status == 0)
        }
    }

    @Test func `a broken file changes nothing, and is said in log, status and exit status`() async throws {
        try await self.with { harness, apns in
            let (gateway, port) = try await harness.start(port: apns.port, Self.admin)
            _ = try harness.directory.write("gateway.json", #"{"listen": "#)
            let refused = try await self.reload(harness)
            #expect(refused.status == 2 && refused.result.contains(#""isTaken":false"#), "\(refused)")
            #expect(try await eventually { try gateway.messages.contains("the reload changed nothing: ") })
            // A status may be 0.1 s old, and the files are looked at every five seconds at most.
            var status: [String: Any]?
            let limit = ContinuousClock.now + .seconds(120)
            while status?["changedFiles"] as? [String] != ["gateway.json"], .now < limit {
                status = try await self.status(harness)
            }
            #expect(status?["refusedReload"] != nil)
            #expect(status?["changedFiles"] as? [String] == ["gateway.json"])
            #expect(try await harness.push(1...3, to: port).status == 0)
            gateway.terminate()
            #expect(try await gateway.output().status == 0)
        }
    }

    @Test func `a store cannot change while the gateway runs, and nothing else of the file is taken`() async throws {
        try await self.with { harness, apns in
            let (gateway, port) = try await harness.start(port: apns.port, Self.admin)
            let changes = Self.admin.merging([
                "store": #"{"path": "gateway.db"}"#, "clients": #"[{"name": "x", "userID": "x", "topics": ["x"]}]"#,
            ]) { $1 }
            _ = try harness.configuration(port: apns.port, changes)
            let refused = try await self.reload(harness)
            #expect(refused.status == 2)
            #expect(try await harness.push(1...3, to: port).status == 0)
            gateway.terminate()
            #expect(try await gateway.output().status == 0)
        }
    }

    @Test func `SIGHUP reads the configuration again, and the gateway goes on`() async throws {
        try await self.with { harness, apns in
            let (gateway, port) = try await harness.start(port: apns.port, Self.admin)
            gateway.hangUp()
            #expect(try await eventually { try gateway.messages.contains("The configuration was read again.") })
            #expect(try await harness.push(1...3, to: port).status == 0)
            gateway.terminate()
            #expect(try await gateway.output().status == 0)
        }
    }

    @Test func `a SIGHUP during the end changes nothing, which is said`() async throws {
        try await GatewayHarness.run { harness in
            // Nobody is at APNs' port, so the end waits for an answer.
            let (gateway, port) = try await harness.start(Self.admin)
            _ = try await harness.push(1...1, to: port)
            gateway.terminate()
            #expect(try await eventually { try gateway.messages.contains("stops in ") })
            gateway.hangUp()
            let words = "the reload changed nothing: The gateway ends."
            #expect(try await eventually { try gateway.messages.contains(words) })
            await gateway.killAndWait()
        }
    }

    @Test func `another proxy is another upstream side`() async throws {
        try await self.with { harness, apns in
            let (gateway, port) = try await harness.start(port: apns.port, Self.admin)
            #expect(try await harness.push(1...3, to: port).status == 0)
            let credentials = harness.credentials
            try await TestProxy.run(.tunnel()) { proxy in
                let upstream = """
                    {"to": "localhost:\(apns.port)", "ca": "ca.pem", "p8": "key.p8", "keyID": "\(credentials.keyID)", \
                    "teamID": "\(credentials.teamID)", "proxy": "127.0.0.1:\(proxy.port)"}
                    """
                let changes = Self.admin.merging(["upstreams": "{\"apns\": \(upstream)}"]) { $1 }
                _ = try harness.configuration(port: apns.port, changes)
                let reloaded = try await self.reload(harness)
                #expect(reloaded.status == 0 && reloaded.result.contains(#""changed":["apns"]"#), "\(reloaded)")
                #expect(try await harness.push(4...6, to: port).status == 0)
                #expect(try await eventually { apns.counts.accepted == 6 })
                #expect(!proxy.requests.isEmpty)
            }
            gateway.terminate()
            #expect(try await gateway.output().status == 0)
        }
    }

    @Test func `a rotation names the listener and the client whose certificates are other ones`() async throws {
        try await self.with { harness, apns in
            let listen = #"{"port": 0, "cert": "server.pem", "key": "server-key.pem", "clientCA": "clients.pem"}"#
            let changes = Self.admin.merging(["listen": listen]) { $1 }
            let authority = try ThrowAwayCA()
            _ = try harness.directory.write("clients.pem", authority.certificatePEM)
            let (gateway, port) = try await harness.start(port: apns.port, changes)
            let listener = "127.0.0.1:\(port)"

            let same = try await self.reload(harness)
            #expect(same.result.contains("It names the same clients and upstreams."), "\(same)")

            let server = try authority.server()
            _ = try harness.directory.write("server.pem", server.certificateChainPEM)
            _ = try harness.directory.write("server-key.pem", server.privateKeyPEM())
            _ = try harness.directory.write("client.pem", authority.client().certificateChainPEM)
            let rotated = try await self.reload(harness)
            let sentence = "clients changed: shop; listeners changed: \(listener)."
            #expect(rotated.status == 0 && rotated.result.contains(sentence), "\(rotated)")
            #expect(rotated.result.contains(#""changed":["shop"]"#), "\(rotated)")
            #expect(rotated.result.contains(#""changed":["\#(listener)"]"#), "\(rotated)")

            _ = try harness.directory.write("clients.pem", ThrowAwayCA().certificatePEM)
            let trusted = try await self.reload(harness)
            #expect(trusted.result.contains("read again: listeners changed: \(listener)."), "\(trusted)")
            gateway.terminate()
            #expect(try await gateway.output().status == 0)
        }
    }

    @Test func `other proxies change the listener, and hold for new connections`() async throws {
        try await self.with { harness, apns in
            func changes(_ proxies: String) -> [String: String?] {
                let listen = #"{"port": 0, "cert": "server.pem", "key": "server-key.pem", "proxies": [\#(proxies)]}"#
                return Self.admin.merging(["listen": listen]) { $1 }
            }
            let (gateway, port) = try await harness.start(port: apns.port, changes(""))
            #expect(try await harness.push(1...3, to: port).status == 0)
            _ = try harness.configuration(port: apns.port, changes(#""127.0.0.0/8""#))
            let reloaded = try await self.reload(harness)
            #expect(reloaded.result.contains("read again: listeners changed: 127.0.0.1:\(port)."), "\(reloaded)")
            let channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
                .connect(host: "127.0.0.1", port: port).get()
            // The beginning of a TLS handshake.
            channel.writeAndFlush(ByteBuffer(bytes: [22]), promise: nil)
            try await channel.closeFuture.get()
            let sentence = "127.0.0.1 was refused: This address is one of 'listen.proxies', and sent TLS without a"
            #expect(try await eventually { try gateway.messages.contains(sentence) })
            gateway.terminate()
            #expect(try await gateway.output().status == 0)
        }
    }

    @Test(arguments: ["admin", "listen"])
    func `another host for a port of the gateway itself needs a restart`(member: String) async throws {
        try await self.with { harness, apns in
            func changes(_ host: String, admin: Int = 0, listen: Int = 0) -> [String: String?] {
                let hosts = ["admin", "listen"].map { $0 == member ? host : "127.0.0.1" }
                return [
                    "admin": #"{"socket": "admin", "host": "\#(hosts[0])", "port": \#(admin)}"#,
                    "listen": """
                    {"host": "\(hosts[1])", "port": \(listen), "cert": "server.pem", "key": "server-key.pem"}
                    """,
                ]
            }
            let (gateway, port) = try await harness.start(port: apns.port, changes("127.0.0.1"))
            let ports = try JSONSerialization.jsonObject(with: Data(gateway.result.utf8)) as? [String: Int]
            let admin = try #require(ports?["admin"])
            let own = member == "admin" ? changes("0.0.0.0", admin: admin) : changes("0.0.0.0", listen: port)
            _ = try harness.configuration(port: apns.port, own)
            let refused = try await self.reload(harness)
            #expect(refused.status == 2, "\(refused)")
            let words = "a reload cannot change the address of a port in use"
            #expect(refused.result.contains(words), "\(refused)")
            #expect(try await harness.push(1...3, to: port).status == 0)
            gateway.terminate()
            #expect(try await gateway.output().status == 0)
        }
    }

    @Test func `nobody answers, exit status 3`() async throws {
        try await GatewayHarness.run { harness in
            let status = try await self.reload(harness).status
            #expect(status == 3)
        }
    }

    @Test func `one certificate through two listeners reaches two upstreams`() async throws {
        try await self.with { harness, production in
            let sandbox = try await SimulatedAPNs.start(.init(credentials: harness.credentials))
            func upstream(_ port: Int) -> String {
                """
                {"to": "localhost:\(port)", "ca": "ca.pem", "p8": "key.p8", "keyID": "\(harness.credentials.keyID)", \
                "teamID": "\(harness.credentials.teamID)"}
                """
            }
            let listen = ["production", "sandbox"].map {
                #"{"port": 0, "cert": "server.pem", "key": "server-key.pem", "upstream": "\#($0)"}"#
            }
            let program = try harness.begin([
                "listen": "[\(listen.joined(separator: ","))]",
                "upstreams": #"{"production": \#(upstream(production.port)), "sandbox": \#(upstream(sandbox.port))}"#,
            ])
            #expect(try await eventually { try program.result.hasSuffix("}\n") })
            let ports = try JSONSerialization.jsonObject(with: Data(program.result.utf8)) as? [String: Any]
            let listeners = try #require(ports?["listen"] as? [[String: Int]])
            _ = try await harness.push(1...3, to: try #require(listeners[0]["binary"]))
            _ = try await harness.push(4...8, to: try #require(listeners[1]["binary"]))
            #expect(try await eventually { production.counts.accepted == 3 && sandbox.counts.accepted == 5 })
            program.terminate()
            #expect(try await program.output().status == 0)
            await sandbox.stop()
        }
    }
}

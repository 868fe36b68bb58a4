import FerryPostgres
import FerryPostgresTestSupport
import FerryTesting
import Foundation
import NIOCore
import NIOPosix
import Testing

/// `ferry gateway` on a PostgreSQL database.
@Suite(.timeLimit(.minutes(10))) struct GatewayShardsTests {
    /// Ports for two shards. The system gives no port of this range to a program that asks for any.
    private static func freePort() async throws -> Int {
        while true {
            let port = Int.random(in: 20_000..<32_000)
            let bootstrap = ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            guard let first = try? await bootstrap.bind(host: "127.0.0.1", port: port).get() else { continue }
            let second = try? await bootstrap.bind(host: "127.0.0.1", port: port + 1).get()
            try await first.close()
            guard let second else { continue }
            try await second.close()
            return port
        }
    }

    private static func store(_ connection: String, node: String) -> String {
        #"{"postgres": "\#(connection)", "node": "\#(node)"}"#
    }

    private static func listen(_ port: Int) -> String {
        #"{"port": \#(port), "cert": "server.pem", "key": "server-key.pem"}"#
    }

    @Test func `a database that cannot be used ends the start with one sentence`() async throws {
        try await GatewayHarness.run { harness in
            let program = try harness.begin([
                "store": Self.store("host=/nonexistent dbname=ferry", node: "gw1"),
                "listen": Self.listen(22_000),
            ])
            let output = try await program.output()
            // A build without PostgreSQL cannot use any database.
            #expect(output.status == (output.messages.contains("--traits") ? 2 : 3) && output.result.isEmpty)
            #expect(output.messages.hasPrefix("ferry: 'store.postgres': "), "\(output.messages)")
            #expect(output.messages.split(separator: "\n").count == 1, "\(output.messages)")
        }
    }

    @Test func `port 0 is refused, because each shard has the next port`() async throws {
        try await GatewayHarness.run { harness in
            let output = try await harness.check(["store": Self.store("host=/nonexistent", node: "gw1")])
            #expect(output.status == 2)
            #expect(output.messages == "ferry: 'listen.port' cannot be 0: each shard has the next port\n")
        }
    }

    @Test(.enabled(if: PostgresServer.isAvailable))
    func `a start with descriptors for some of the shards only says how many are needed`() async throws {
        let server = try #require(PostgresServer.shared)
        let database = try server.database()
        let setup = PostgresSetup(server.connection(to: database))
        _ = try await setup.make(shards: 8)
        setup.close()
        try await GatewayHarness.run { harness in
            let store = Self.store(server.connection(to: database), node: "gw1")
            let program = try harness.begin(
                ["store": store, "listen": Self.listen(22_000)],
                shell: #"ulimit -n 300; exec "$@""#
            )
            let output = try await program.output()
            #expect(output.status == 2)
            #expect(output.messages.contains("Only 300 files and sockets may be open at a time"), "\(output.messages)")
        }
    }

    @Test(.enabled(if: PostgresServer.isAvailable))
    func `status, page, reload, letters and waiting work with shards`() async throws {
        let server = try #require(PostgresServer.shared)
        let database = try server.database()
        let setup = PostgresSetup(server.connection(to: database))
        _ = try await setup.make(shards: 2)
        setup.close()
        try await GatewayHarness.run { harness in
            let apns = try await SimulatedAPNs.start(.init(credentials: harness.credentials))
            let port = try await Self.freePort()
            let members: [String: String?] = [
                "store": Self.store(server.connection(to: database), node: "gw1"), "listen": Self.listen(port),
                "admin": #"{"socket": "admin"}"#,
            ]
            func ask(_ command: String...) async throws -> FerryProgram.Output {
                try await FerryProgram.run(
                    ["gateway"] + command + ["--socket", harness.directory.path("admin")],
                    in: harness.directory
                )
            }
            let program = try harness.begin(port: apns.port, members)
            #expect(try await eventually { try program.messages.contains("gw1 owns shard 1") })
            #expect(try await eventually { try program.messages.contains("gw1 owns shard 0") })
            #expect(try await harness.push(1...20, to: port).status == 0)
            #expect(try await harness.push(21...30, to: port + 1).status == 0)
            // A client may end before APNs has everything.
            var status = try await ask("status")
            while !status.result.contains("in all: read 30, accepted 30") { status = try await ask("status") }
            #expect(status.result.contains("shard  owner  term"), "\(status)")
            let text = try await ask("status", "--json").result
            let json = try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any]
            let shards = try #require(json?["shards"] as? [[String: Any]])
            #expect(shards.map { $0["owner"] as? String } == ["gw1", "gw1"])
            #expect(try await ask("letters", "list").status == 0)
            #expect(try await ask("waiting").status == 0)
            let backup = try await ask("backup", harness.directory.path("copy.db"))
            #expect(backup.status != 0 && backup.messages.contains("PostgreSQL's own tools"), "\(backup)")
            // Another client has the certificate.
            _ = try harness.configuration(
                port: apns.port,
                members.merging(["clients": #"[{"name": "news", "cert": "client.pem", "topics": ["x"]}]"#]) { $1 }
            )
            let reloaded = try await ask("reload")
            #expect(reloaded.status == 0 && reloaded.result.contains("new: news"), "\(reloaded)")
            _ = try harness.configuration(
                port: apns.port,
                members.merging(["store": #"{"path": "gateway.db"}"#]) { $1 }
            )
            let refused = try await ask("reload")
            #expect(refused.status == 2 && refused.result.contains("'store' cannot change"), "\(refused)")
            _ = try harness.configuration(port: apns.port, members)
            program.hangUp()
            #expect(try await eventually { try program.messages.contains("new: shop") })
            program.terminate()
            #expect(try await program.output().status == 0)
            await apns.stop()
        }
    }

    @Test(.enabled(if: PostgresServer.isAvailable))
    func `two processes serve a shard one after the other`() async throws {
        let server = try #require(PostgresServer.shared)
        let database = try server.database()
        let setup = PostgresSetup(server.connection(to: database))
        _ = try await setup.make(shards: 1)
        setup.close()
        try await GatewayHarness.run { harness in
            let recorder = APNsMemoryRecorder()
            var simulated = SimulatedAPNs.Configuration(credentials: harness.credentials)
            simulated.recorder = recorder
            let apns = try await SimulatedAPNs.start(simulated)
            for (node, count) in [("gw1", 20), ("gw2", 40)] {
                let port = try await Self.freePort()
                let program = try harness.begin(
                    port: apns.port,
                    ["store": Self.store(server.connection(to: database), node: node), "listen": Self.listen(port)]
                )
                #expect(try await eventually { try program.messages.contains("\(node) owns shard 0") })
                #expect(try program.result == "{\"binary\":\(port),\"shards\":1}\n")
                let pushed = try await harness.push(1...20, to: port)
                #expect(pushed.status == 0, "\(pushed.messages)")
                #expect(try await eventually { recorder.requests.count == count })
                program.terminate()
                let output = try await program.output()
                #expect(output.status == 0, "\(output.messages)")
                #expect(output.messages.contains("shard 0 is given up. Another node takes it at once."))
                #expect(try server.query("select owner, freed from ferry.shard", in: database) == "\(node)|t")
            }
            #expect(recorder.requests.count == 40)
            // Both processes used one provider token.
            #expect(try server.query("select count(*) from ferry.provider_token", in: database) == "1")
            await apns.stop()
        }
    }
}

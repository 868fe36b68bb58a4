import FerryTerminal
import FerryWorker
import Foundation
import Testing

@testable import FerryCommand

@Suite struct WorkerPlanTests {
    private static let store = #""store": {"postgres": "host=db password=secret"}"#
    private static let client = #"{"name": "shop", "topics": ["com.example.shop"]}"#

    private static func plan(
        _ harness: GatewayHarness,
        store: String = Self.store,
        clients: String = Self.client,
        _ rest: String = ""
    ) throws -> WorkerPlan {
        let text = """
            {\(store), "upstreams": {"apns": {"p8": "key.p8", "keyID": "ABCDE12345", "teamID": "FGHIJ67890"}},
             "clients": [\(clients)]\(rest)}
            """
        let directory = URL(filePath: harness.directory.path(""), directoryHint: .isDirectory)
        return try WorkerPlan(Array(text.utf8), directory: directory)
    }

    @Test func `a worker needs a database, an upstream and clients with topics`() async throws {
        try await GatewayHarness.run { harness in
            let plan = try Self.plan(harness)
            #expect(plan.worker.postgres == "host=db password=secret")
            #expect(plan.worker.clients.map(\.name) == ["shop"])
            #expect(plan.worker.connections == 8)
            #expect(plan.worker.batch == 500)
            #expect(plan.worker.keep == .seconds(7 * 86_400))
            #expect(plan.worker.keepsAccepted)
            #expect(plan.upstreams.map(\.name) == ["apns"])
        }
    }

    @Test func `a check reads the files of upstreams`() async throws {
        try await GatewayHarness.run { harness in
            _ = try harness.directory.write("ca.pem", "no certificate")
            let configuration = try harness.directory.write(
                "worker.json",
                """
                {"store": {"postgres": "host=/nonexistent"}, "clients": [\(Self.client)],
                 "upstreams": {"apns": {"ca": "ca.pem", "p8": "key.p8", "keyID": "ABCDE12345", "teamID": "FGHIJ67890"}}}
                """
            )
            let arguments = ["worker", "--config", configuration, "--check"]
            let output = try await FerryProgram.run(arguments, in: harness.directory)
            #expect(output.status == 2 && output.messages.hasPrefix("ferry: upstreams.apns: "), "\(output)")
        }
    }

    @Test func `a file of a gateway serves a worker, and the other way round`() async throws {
        try await GatewayHarness.run { harness in
            let rest = #"""
                , "listen": {"cert": "server.pem", "key": "server-key.pem"}, "rejections": "r.jsonl",
                "admin": {"port": 2199}, "worker": {"connections": 2, "batch": 10, "outcomes": {"keep": 0.5, "accepted": false}}
                """#
            let plan = try Self.plan(
                harness,
                store:
                    #""store": {"postgres": "host=db", "path": "gateway.db", "fsync": true, "node": "a", "rejections": 9}"#,
                rest
            )
            #expect(plan.worker.connections == 2)
            #expect(plan.worker.batch == 10)
            #expect(plan.worker.keep == .seconds(43_200))
            #expect(!plan.worker.keepsAccepted)
            #expect(plan.admin.port == nil)
            let gateway = #"""
                {"listen": {"cert": "server.pem", "key": "server-key.pem"}, "upstreams": {}, "clients": [],
                 "worker": {"connections": 2}}
                """#
            _ = try GatewayFile(Array(gateway.utf8))
        }
    }

    @Test(arguments: [
        (#""store": {}"#, Self.client, "", "'store.postgres'"),
        (Self.store, "", "", "'clients' is empty"),
        (Self.store, #"{"name": "shop", "topics": []}"#, "", "clients[0]: 'topics' is empty"),
        (Self.store, #"{"name": "shop", "topics": ["a b"]}"#, "", "clients[0]: the topic"),
        (Self.store, "\(Self.client), \(Self.client)", "", "clients[1]: another client has the name"),
        (Self.store, #"{"name": "a", "topics": ["x"], "upstream": "far"}"#, "", "there is no upstream 'far'"),
        (Self.store, Self.client, #", "worker": {"batches": 1}"#, "worker.batches"),
        (Self.store, Self.client, #", "worker": {"batch": 0}"#, "worker.batch"),
        (Self.store, Self.client, #", "workers": {}"#, "workers"),
    ])
    func `a fault is named`(store: String, clients: String, rest: String, words: String) async throws {
        try await GatewayHarness.run { harness in
            let failure = #expect(throws: CommandFailure.self) {
                _ = try Self.plan(harness, store: store, clients: clients, rest)
            }
            #expect(failure?.message.contains(words) == true, "\(failure?.message ?? "")")
            #expect(failure?.message.contains("secret") == false)
        }
    }
}

import Foundation
import Testing

@testable import FerryCommand
@testable import FerryGateway

@Suite struct GatewayPlanTests {
    private static func plan(
        _ harness: GatewayHarness,
        upstream: String = #""keyID": "ABCDE12345""#,
        clients: String
    ) throws -> GatewayPlan {
        let text = """
            {"listen": {"cert": "server.pem", "key": "server-key.pem"},
             "upstreams": {"apns": {"p8": "key.p8", "teamID": "FGHIJ67890", \(upstream)}}, "clients": [\(clients)]}
            """
        let file = try GatewayFile(Array(text.utf8))
        return try GatewayPlan(file, directory: URL(filePath: harness.directory.path(""), directoryHint: .isDirectory))
    }

    private static func client(_ name: String, _ topics: String, _ rest: String = "") -> String {
        let fingerprint = String(repeating: name == "a" ? "0a" : "0b", count: 32)
        return #"{"name": "\#(name)", "fingerprints": ["\#(fingerprint)"], "topics": [\#(topics)]\#(rest)}"#
    }

    @Test func `clients with the same topic share its gate, and each has its order of topics`() async throws {
        try await GatewayHarness.run { harness in
            let clients = [Self.client("a", #""x", "y""#), Self.client("b", #""y", "y", "z""#)].joined(separator: ",")
            let plan = try Self.plan(harness, clients: clients)
            #expect(plan.gateway.routes.map { String(decoding: $0.topic, as: UTF8.self) } == ["x", "y", "z"])
            #expect(plan.gateway.identities.map(\.routes) == [[0, 1], [1, 2]])
        }
    }

    @Test func `what may have arrived goes out again unless the file or the client says no`() async throws {
        try await GatewayHarness.run { harness in
            let no = #", "repeatsUnknown": false"#
            let clients = [Self.client("a", #""x""#), Self.client("b", #""x""#, no)].joined(separator: ",")
            let plan = try Self.plan(harness, clients: clients)
            #expect(plan.gateway.identities.map { $0.repeatsUnknown } == [true, false])
        }
    }

    /// C22: the key of a gate that is stored.
    @Test func `another server or key is another gate`() async throws {
        try await GatewayHarness.run { harness in
            let upstreams = [
                #""keyID": "ABCDE12345""#, #""keyID": "ABCDE12346""#, #""keyID": "ABCDE12345", "sandbox": true"#,
                #""keyID": "ABCDE12345", "to": "localhost:2197""#,
            ]
            var keys: [[UInt8]?] = []
            for upstream in upstreams {
                let plan = try Self.plan(harness, upstream: upstream, clients: Self.client("a", #""x""#))
                keys.append(GateRow.key(of: plan.gateway.routes[0]))
            }
            #expect(Set(keys).count == keys.count && !keys.contains(nil))
        }
    }
}

import FerryServer
import FerryTerminal
import Foundation
import NIOCore
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

    private static func listening(
        _ harness: GatewayHarness,
        _ listen: [String],
        _ client: String
    ) throws -> GatewayPlan {
        let entries = listen.map { #"{"cert": "server.pem", "key": "server-key.pem", \#($0)}"# }
        let upstream = #"{"p8": "key.p8", "keyID": "ABCDE12345", "teamID": "FGHIJ67890"}"#
        let text = """
            {"listen": [\(entries.joined(separator: ","))], "upstreams": {"a": \(upstream), "b": \(upstream)},
             "clients": [\(client)]}
            """
        return try GatewayPlan(
            GatewayFile(Array(text.utf8)),
            directory: URL(filePath: harness.directory.path(""), directoryHint: .isDirectory)
        )
    }

    @Test func `a client has an identity for each upstream that a listener names`() async throws {
        try await GatewayHarness.run { harness in
            let listen = [#""port": 1"#, #""port": 2, "upstream": "b""#, #""port": 3, "upstream": "a""#]
            let plan = try Self.listening(harness, listen, Self.client("a", #""x""#, #", "upstream": "a""#))
            #expect(plan.gateway.identities.map(\.storeName) == ["a", "a\u{1F}b"])
            #expect(plan.gateway.routes.map(\.upstream) == [0, 1])
            #expect(plan.gateway.doors.map(\.port) == [1, 2, 3])
        }
    }

    @Test func `a client needs no upstream if each listener names one`() async throws {
        try await GatewayHarness.run { harness in
            let client = Self.client("a", #""x""#)
            let listen = [#""port": 1, "upstream": "a""#, #""port": 2, "upstream": "b""#]
            let plan = try Self.listening(harness, listen, client)
            #expect(plan.gateway.identities.map(\.label) == ["a (a)", "a (b)"])
            #expect(throws: (any Error).self) { try Self.listening(harness, [#""port": 1"#, listen[1]], client) }
        }
    }

    @Test(arguments: [
        [#""port": 1"#, #""port": 1"#],
        [#""port": 1, "serverNames": ["x.example.com"]"#],
        [#""port": 1"#, #""port": 1, "serverNames": ["x"]"#, #""port": 1, "serverNames": ["X"]"#],
        [#""port": 1"#, #""port": 1, "serverNames": ["x"], "legacyTLS": true"#],
        [#""port": 1, "proxies": ["10.0.0.1"]"#, #""port": 1, "serverNames": ["x"]"#],
        [#""port": 1, "upstream": "c""#],
    ])
    func `entries that cannot share an address are refused`(listen: [String]) async throws {
        try await GatewayHarness.run { harness in
            let client = Self.client("a", #""x""#, #", "upstream": "a""#)
            #expect(throws: (any Error).self) { try Self.listening(harness, listen, client) }
        }
    }

    @Test func `clients behind proxies are 100 ms away unless the file says more`() async throws {
        try await GatewayHarness.run { harness in
            let client = Self.client("a", #""x""#, #", "upstream": "a""#)
            let listen = [
                #""port": 1, "proxies": ["10.0.0.1", "2001:db8::/32"]"#,
                #""port": 2, "proxies": ["10.0.0.0/8"], "proxyRoundTrip": 0.25"#, #""port": 3"#,
            ]
            let proxies = try Self.listening(harness, listen, client).gateway.doors.map(\.proxies)
            #expect(proxies.map(\.networks.count) == [2, 1, 0])
            #expect(proxies.prefix(2).map(\.roundTrip) == [.milliseconds(100), .milliseconds(250)])
            #expect(try proxies[0].contains(SocketAddress(ipAddress: "2001:db8::1", port: 1)))
        }
    }

    @Test(arguments: [
        (#""proxies": ["lb.example.com"]"#, "'proxies' has 'lb.example.com', which is neither an address nor a"),
        (#""proxies": ["10.0.0.0/33"]"#, "'proxies' has '10.0.0.0/33', which is neither an address nor a"),
        (#""proxyRoundTrip": 0.1"#, "'proxyRoundTrip' needs 'proxies'"),
        (#""proxies": ["10.0.0.1"], "proxyRoundTrip": 21"#, "a number, 0 to 20"),
    ])
    func `a wrong proxy is refused with its name`(members: String, words: String) async throws {
        try await GatewayHarness.run { harness in
            let client = Self.client("a", #""x""#, #", "upstream": "a""#)
            #expect {
                try Self.listening(harness, [members], client)
            } throws: { error in
                "\((error as? CommandFailure)?.message ?? "\(error)")".contains(words)
            }
        }
    }

    @Test func `anyone cannot come through a proxy`() async throws {
        try await GatewayHarness.run { harness in
            let client = #"{"name": "a", "anyone": true, "topics": ["x"], "upstream": "a"}"#
            #expect(throws: Never.self) { try Self.listening(harness, [#""port": 1"#], client) }
            #expect(throws: CommandFailure.self) {
                try Self.listening(harness, [#""port": 1, "proxies": ["127.0.0.1"]"#], client)
            }
        }
    }

    @Test func `a key that did not change keeps its source of tokens`() async throws {
        try await GatewayHarness.run { harness in
            let tokens = TokenSources()
            let path = harness.directory.path("key.p8")
            let first = try tokens.source(of: "apns", p8: path, keyID: "ABCDE12345", teamID: "FGHIJ67890")
            #expect(try tokens.source(of: "apns", p8: path, keyID: "ABCDE12345", teamID: "FGHIJ67890") === first)
            #expect(try tokens.source(of: "apns", p8: path, keyID: "ABCDE12346", teamID: "FGHIJ67890") !== first)
            tokens.begin()
            _ = try tokens.source(of: "apns", p8: path, keyID: "ABCDE12346", teamID: "FGHIJ67890")
            tokens.forgetOthers()
            #expect(try tokens.source(of: "apns", p8: path, keyID: "ABCDE12345", teamID: "FGHIJ67890") !== first)
        }
    }
}

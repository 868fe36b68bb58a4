import Foundation
import Testing

@Suite(.timeLimit(.minutes(10))) struct GatewayCommandTests {
    @Test(
        arguments: [
            ("store", #""gateway.db""#, "'store' must be an object with 'path'"),
            ("store", #"{"path": 1}"#, "'store.path' must be a string"),
            ("store", #"{}"#, "'store.path' is missing"),
            ("store", #"{"path": "a", "fsync": "yes"}"#, "'store.fsync' must be true or false"),
            ("store", #"{"pat": "a"}"#, "There is no member 'store.pat': is path meant?"),
            ("rejections", "{}", "'rejections' must be a string"),
            ("repeatsUnknown", "1", "'repeatsUnknown' must be true or false"),
            ("listen", "2195", "'listen' must be an object with 'cert' and 'key'"),
            ("listen", #"{"port": "1", "cert": "a", "key": "b"}"#, "'listen.port' must be a whole number"),
            ("listen", #"{"port": 1.5, "cert": "a", "key": "b"}"#, "'listen.port' must be a whole number"),
            (
                "listen", #"{"port": 70000, "cert": "server.pem", "key": "server-key.pem"}"#,
                "'listen.port' must be 0 to 65535"
            ),
            ("listen", #"{"cert": null, "key": "b"}"#, "'listen.cert' is missing"),
            ("upstreams", "[]", "'upstreams' must be an object with an object for each name"),
            ("upstreams", #"{"apns": "a"}"#, "'upstreams.apns' must be an object"),
            ("clients", "{}", "'clients' must be a list of objects"),
            ("clients", #"[{"name": "a", "topics": "b"}]"#, "'clients[0].topics' must be a list of strings"),
            ("clients", #"[{"name": "a", "topics": [1]}]"#, "'clients[0].topics[0]' must be a string"),
            ("clients", nil, "'clients' is missing"),
        ] as [(String, String?, String)]
    )
    func `a member of the wrong type is named, with what it must be`(
        member: String,
        value: String?,
        words: String
    ) async throws {
        try await GatewayHarness.run { harness in
            let output = try await harness.check([member: value])
            #expect(output.status == 2)
            #expect(output.messages == "ferry: \(words)\n")
        }
    }

    @Test func `a store without its mark starts, and says so`() async throws {
        try await GatewayHarness.run { harness in
            let store = ["store": #"{"path": "gateway.db"}"#] as [String: String?]
            let (first, port) = try await harness.start(store)
            _ = try await harness.push(1...1, to: port)
            await first.killAndWait()
            #expect(try !first.messages.contains("warning"))
            try FileManager.default.removeItem(atPath: harness.directory.path("gateway.db-mark"))
            let (second, _) = try await harness.start(store)
            await second.killAndWait()
            #expect(try second.messages.contains("gateway.db-mark was missing, and is made anew."))
        }
    }
}

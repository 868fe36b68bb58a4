import FerryCore
import FerryTesting
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
            (
                "clients", #"[{"name": "a", "anyone": true, "topics": ["com.example.app"], "mode": "fast"}]"#,
                "clients[0]: 'mode' must be \"verdict\" or \"spool\""
            ),
            (
                "clients", #"[{"name": "a", "anyone": true, "topics": ["com.example.app"], "mode": "spool"}]"#,
                "clients[0]: 'mode' \"spool\" needs 'store': without one, a kill would lose what the client counts as sent"
            ),
            (
                "clients", #"[{"name": "a", "topics": ["b"], "resends": 1}]"#,
                "'clients[0].resends' must be true or false"
            ),
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

    @Test func `credentials of another kind get the words of the configuration, and not those of the library`()
        async throws
    {
        try await GatewayHarness.run { harness in
            let output = try await harness.check(["listen": #"{"cert": "key.p8", "key": "server-key.pem"}"#])
            #expect(output.status == 2)
            #expect(output.messages.contains("key.p8 holds a private key and not a certificate"))
            #expect(output.messages.hasSuffix("over HTTP/2 you name it as 'p8', with 'keyID' and 'teamID'.\n"))
        }
    }

    @Test func `the file of a client's certificate is named if it holds none`() async throws {
        try await GatewayHarness.run { harness in
            let client = #"[{"name": "shop", "cert": "key.p8", "topics": ["com.example.shop"]}]"#
            let output = try await harness.check(["clients": client])
            #expect(output.status == 2)
            #expect(output.messages.hasPrefix("ferry: clients[0]: "))
            #expect(output.messages.contains("key.p8 holds no certificate"), "\(output.messages)")
        }
    }

    @Test func `--check makes no file, and finds a list or a store that cannot be written`() async throws {
        try await GatewayHarness.run { harness in
            let files = { try FileManager.default.contentsOfDirectory(atPath: harness.directory.path("")).count }
            _ = try harness.configuration()
            let before = try files()
            let good = try await harness.check(["rejections": #""list""#, "store": #"{"path": "gateway.db"}"#])
            #expect(good.status == 0, "\(good.messages)")
            // The two files with the program's output are the test's.
            #expect(try files() == before + 2)
            let directory = try await harness.check(["rejections": #"".""#])
            #expect(directory.status == 2)
            #expect(directory.messages.contains("cannot be written: Is a directory"), "\(directory.messages)")
            let missing = try await harness.check(["rejections": #""missing/list""#])
            #expect(missing.status == 2)
            #expect(missing.messages.contains("cannot be written: No such file"), "\(missing.messages)")
            let store = try await harness.check(["store": #"{"path": "missing/gateway.db"}"#])
            #expect(store.status == 2)
            #expect(store.messages.contains("'store.path': "), "\(store.messages)")
            #expect(store.messages.contains("cannot be written: No such file"), "\(store.messages)")
            _ = try harness.directory.write("list", "old\n")
            #expect(try await harness.check(["rejections": #""list""#]).status == 0)
            #expect(try harness.directory.read("list") == "old\n")
        }
    }

    @Test func `the reader of a list that is a FIFO does not notice --check`() async throws {
        try await GatewayHarness.run { harness in
            let fifo = PushFilesTests.fifo(harness.directory)
            let reader = open(fifo, O_RDONLY | O_NONBLOCK)
            defer { close(reader) }
            let output = try await harness.check(["rejections": #""fifo""#])
            #expect(output.status == 0, "\(output.messages)")
            // After a writer that has gone, there would be a hang-up.
            var state = pollfd(fd: reader, events: Int16(POLLIN), revents: 0)
            #expect(poll(&state, 1, 0) == 0)
        }
    }

    @Test func `keys that others can read are named once, by --check and at a start`() async throws {
        try await GatewayHarness.run { harness in
            _ = try harness.directory.write("key.p8", harness.directory.read("key.p8"), mode: 0o644)
            _ = try harness.directory.write("server-key.pem", harness.directory.read("server-key.pem"), mode: 0o640)
            let warning =
                "ferry: warning: \(harness.directory.path("key.p8")) holds a private key, and other users may read or change "
                + "it (mode 644); chmod 600 \(harness.directory.path("key.p8"))\n"
            let output = try await harness.check()
            #expect(output.status == 0)
            #expect(output.messages == warning)
            let (program, _) = try await harness.start()
            program.terminate()
            #expect(try await program.output().messages.hasPrefix(warning))
        }
    }

    @Test func `an upstream's trouble is named after its member, and a stop says what it waits for`() async throws {
        try await GatewayHarness.run { harness in
            let (program, port) = try await harness.start(["store": #"{"path": "gateway.db"}"#])
            _ = try await harness.push(1...3, to: port)
            #expect(
                try await eventually { try program.messages.contains("ferry: upstreams.apns: connection failed: ") }
            )
            program.terminate()
            #expect(try await eventually { try program.messages.contains("ferry: stops in 30 s at most") })
            let messages = try program.messages
            #expect(messages.contains("; 3 wait for an answer of APNs"), "\(messages)")
            let output = try await program.output()
            #expect(output.status == 0)
            #expect(output.messages.split(separator: "\n").allSatisfy { $0.hasPrefix("ferry: ") }, "\(output.messages)")
            #expect(output.messages.contains("ferry: 3 wait in the store for the next start"), "\(output.messages)")
        }
    }

    @Test func `refused credentials and a backlog are one alarm at the start, and a refused client is named`()
        async throws
    {
        try await GatewayHarness.run { harness in
            var configuration = SimulatedAPNs.Configuration(credentials: harness.credentials)
            configuration.script.rules = [HTTP2Rule(prefix: [0], status: 403, reason: .invalidProviderToken)]
            let apns = try await SimulatedAPNs.start(configuration)
            let store = ["store": #"{"path": "gateway.db"}"#] as [String: String?]
            let (first, port) = try await harness.start(port: apns.port, store)
            _ = try await harness.push(1...3, to: port)
            #expect(try await eventually { try first.messages.contains("ferry: alarm: ") })
            await first.killAndWait()
            let (second, again) = try await harness.start(port: apns.port, store)
            #expect(try await eventually { try second.messages.contains("ferry: alarm: ") })
            let alarm = try second.messages.split(separator: "\n").filter { $0.contains(" alarm: ") }
            #expect(alarm.count == 1)
            #expect(alarm.first?.contains("Notifications wait (3 have no answer)") == true, "\(alarm)")
            #expect(alarm.first?.hasSuffix("New connections of shop are closed meanwhile.") == true, "\(alarm)")
            let client = try await harness.push(4...4, to: again)
            #expect(!client.messages.contains("no gateway"), "\(client.messages)")
            #expect(
                try await eventually {
                    try second.messages.contains(
                        "127.0.0.1 was refused: Notifications of shop wait, as the alarm says."
                    )
                }
            )
            await second.killAndWait()
            await apns.stop()
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

    @Test func `a line of the list says what happened to which token, and when`() async throws {
        try await GatewayHarness.run { harness in
            var configuration = SimulatedAPNs.Configuration(credentials: harness.credentials)
            configuration.script.rules = [HTTP2Rule(prefix: [0], status: 410)]
            let apns = try await SimulatedAPNs.start(configuration)
            let before = Int(Date.now.timeIntervalSince1970)
            let (gateway, port) = try await harness.start(port: apns.port, ["rejections": #""list""#])
            _ = try await harness.push(1...1, to: port)
            #expect(try await eventually { try harness.directory.read("list").hasSuffix("}\n") })
            let list = try harness.directory.read("list")
            let line = try JSONSerialization.jsonObject(with: Data(list.utf8)) as? [String: Any]
            let keys: Set = ["event", "client", "topic", "token", "time", "at"]
            #expect(line.map { Set($0.keys) } == keys, "\(list)")
            #expect((line?["at"] as? Int).map { before...before + 600 ~= $0 } == true, "\(list)")
            await gateway.killAndWait()
            await apns.stop()
        }
    }
}

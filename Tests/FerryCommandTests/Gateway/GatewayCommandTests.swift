import FerryCore
import FerryTesting
import FerryOpenSSL
import Foundation
import Testing

@Suite(.timeLimit(.minutes(10))) struct GatewayCommandTests {
    @Test(
        arguments: [
            ("store", #""gateway.db""#, "The option 'store' takes an object."),
            ("store", #"{"path": 1}"#, "The option 'store.path' takes a string."),
            ("store", #"{}"#, "The option 'store.path' is missing."),
            ("store", #"{"path": "a", "fsync": "yes"}"#, "The option 'store.fsync' takes true or false."),
            ("store", #"{"pat": "a"}"#, "There is no option 'store.pat' here; is path meant?"),
            (
                "store", #"{"path": "a", "postgres": "host=a"}"#,
                "'store.postgres' and 'store.path' are both given: a gateway has one store"
            ),
            (
                "store", #"{"postgres": "host=a", "fsync": true}"#,
                "'store.fsync' is for 'store.path': PostgreSQL answers a commit when it is on its disk"
            ),
            (
                "store", #"{"postgres": "host=a", "node": "a b"}"#,
                "'store.node' has to have 1 to 40 letters, digits and signs of ASCII, without spaces"
            ),
            (
                "store", #"{"postgres": "host=a", "node": "a\u0000b"}"#,
                "'store.node' has to have 1 to 40 letters, digits and signs of ASCII, without spaces"
            ),
            (
                "clients", #"[{"name": "a\u0000", "anyone": true, "topics": ["com.example.app"]}]"#,
                "clients[0]: 'name' has a zero byte"
            ),
            (
                "upstreams", #"{"a\u0000": {"p8": "key.p8", "keyID": "ABCDE12345", "teamID": "FGHIJ67890"}}"#,
                "'upstreams': a name has a zero byte"
            ),
            ("store", #"{"path": "a", "node": "gw1"}"#, "'store.node' needs 'store.postgres'"),
            ("store", #"{"path": "a", "rejections": 30}"#, "'store.rejections' needs 'store.postgres'"),
            (
                "store", #"{"postgres": "host=a", "away": "b"}"#,
                #"The option 'store.away' takes one of "wait", "serve"."#
            ),
            ("rejections", "{}", "The option 'rejections' takes a string."),
            ("repeatsUnknown", "1", "The option 'repeatsUnknown' takes true or false."),
            ("listen", "2195", "The option 'listen' takes an object."),
            (
                "listen", #"{"port": "1", "cert": "a", "key": "b"}"#,
                "The option 'listen.port' takes a whole number, 0 to 65535."
            ),
            (
                "listen", #"{"port": 1.5, "cert": "a", "key": "b"}"#,
                "The option 'listen.port' takes a whole number, 0 to 65535."
            ),
            (
                "listen", #"{"port": 70000, "cert": "server.pem", "key": "server-key.pem"}"#,
                "The option 'listen.port' takes a whole number, 0 to 65535."
            ),
            ("listen", #"{"cert": null, "key": "b"}"#, "The option 'listen.cert' is missing."),
            ("upstreams", "[]", "The option 'upstreams' takes an object."),
            ("upstreams", #"{"apns": "a"}"#, "The option 'upstreams.apns' takes an object."),
            ("clients", "{}", "The option 'clients' takes a list of objects."),
            ("clients", #"[{"name": "a", "topics": "b"}]"#, "The option 'clients[0].topics' takes a list of strings."),
            ("clients", #"[{"name": "a", "topics": [1]}]"#, "The option 'clients[0].topics[0]' takes a string."),
            (
                "clients", #"[{"name": "a", "anyone": true, "topics": ["com.example.app"], "mode": "fast"}]"#,
                "The option 'clients[0].mode' takes one of \"verdict\", \"spool\"."
            ),
            (
                "clients", #"[{"name": "a", "anyone": true, "topics": ["com.example.app"], "mode": "spool"}]"#,
                "clients[0]: 'mode' \"spool\" needs 'store': without one, a kill would lose what the client counts as sent"
            ),
            (
                "clients", #"[{"name": "a", "topics": ["b"], "resends": 1}]"#,
                "The option 'clients[0].resends' takes true or false."
            ),
            (
                "clients", #"[{"name": "a", "topics": ["b"], "repeatsUnknown": 1}]"#,
                "The option 'clients[0].repeatsUnknown' takes true or false."
            ),
            ("clients", nil, "The option 'clients' is missing."),
            (
                "clients", #"[{"name": "a", "anyone": true, "topics": ["com.example.*"]}]"#,
                "clients[0]: a topic has a '*', which stands for nothing here: name each app's bundle ID as a topic of its own"
            ),
            (
                "clients", #"[{"name": "a", "userID": "com.example.app", "topics": ["com.example.app"]}]"#,
                "clients[0]: 'userID' needs 'listen.clientCA', the authorities that sign its certificate"
            ),
            (
                "clients", #"[{"name": "a", "userID": "a", "fingerprints": ["00"], "topics": ["com.example.app"]}]"#,
                "clients[0]: 'userID' and 'fingerprints' are both given: a client is known by one of them"
            ),
            (
                "upstreams", #"{"apns": {"p8": "key.p8", "keyID": "A", "teamID": "B", "cert": "server.pem"}}"#,
                "upstreams.apns: 'p8' and 'cert' are both given: an upstream has one credential"
            ),
            (
                "upstreams", #"{"apns": {"p12": "push.p12"}}"#,
                "There is no option 'upstreams.apns.p12' here: an archive (PKCS#12) is not read here: convert it with 'openssl pkcs12 "
                    + "-in ARCHIVE -nodes -out both.pem' (an old one with -legacy), and name both.pem as 'cert' and as 'key'."
            ),
            (
                "listen", #"{"pfx": "server.pfx"}"#,
                "There is no option 'listen.pfx' here: an archive (PKCS#12) is not read here: convert it with 'openssl pkcs12 "
                    + "-in ARCHIVE -nodes -out both.pem' (an old one with -legacy), and name both.pem as 'cert' and as 'key'."
            ),
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

    @Test func `a key in place of the name of its file is not shown`() async throws {
        try await GatewayHarness.run { harness in
            let text = try harness.directory.read("key.p8")
            let base64 = Data(text.utf8).base64EncodedString()
            let ids = #""keyID": "ABCDE12345", "teamID": "FGHIJ67890""#
            for (member, value, name) in [
                ("upstreams", #"{"apns": {"p8": "\#(base64)", \#(ids)}}"#, "p8"),
                ("upstreams", #"{"apns": {"p8": "a/\#(base64)", \#(ids)}}"#, "p8"),
                ("upstreams", #"{"apns": {"cert": "server.pem", "key": "hunter2secret"}}"#, "key"),
                ("listen", #"{"cert": "server.pem", "key": "hunter2secret"}"#, "key"),
            ] {
                let output = try await harness.check([member: value])
                #expect(output.status == 2)
                #expect(output.messages.contains("The file of '\(name)' does not exist. What was given is not shown"))
                #expect(!output.messages.contains("hunter2") && !output.messages.contains(base64.prefix(20)))
            }
        }
    }

    @Test func `one file for two purposes is refused`() async throws {
        try await GatewayHarness.run { harness in
            for (members, words) in [
                (["rejections": #""a""#, "store": #"{"path": "a"}"#], "'rejections' is the same file as 'store.path'"),
                (["rejections": #""gateway.json""#], "'rejections' is the same file as the configuration"),
                (["store": #"{"path": "key.p8"}"#], "'store.path' is the same file as 'upstreams.apns.p8'"),
            ] {
                let output = try await harness.check(members)
                #expect(output.status == 2)
                #expect(output.messages.contains("\(words): give it one of its own"), "\(output.messages)")
            }
        }
    }

    @Test func `an archive in place of each file is named, with what to do`() async throws {
        try await GatewayHarness.run { harness in
            _ = try harness.directory.write("push.p12", harness.credentials.client.pkcs12(passphrase: "x"))
            let ids = #""keyID": "ABCDE12345", "teamID": "FGHIJ67890""#
            let convert = "convert it with 'openssl pkcs12 -in ARCHIVE -nodes -out both.pem'"
            let cases: [(String, String, String)] = [
                ("listen", #"{"cert": "push.p12", "key": "push.p12"}"#, convert),
                ("listen", #"{"cert": "server.pem", "key": "push.p12"}"#, convert),
                (
                    "listen", #"{"cert": "server.pem", "key": "server-key.pem", "clientCA": "push.p12"}"#,
                    "take its certificates out with 'openssl pkcs12 -in ARCHIVE -nokeys -out certificates.pem'"
                ),
                ("upstreams", #"{"apns": {"cert": "push.p12"}}"#, convert),
                ("upstreams", #"{"apns": {"p8": "push.p12", \#(ids)}}"#, convert),
                (
                    "upstreams", #"{"apns": {"p8": "key.p8", "ca": "push.p12", \#(ids)}}"#,
                    "take its certificates out with 'openssl pkcs12 -in ARCHIVE -nokeys -out certificates.pem'"
                ),
                (
                    "clients", #"[{"name": "a", "cert": "push.p12", "topics": ["com.example.app"]}]"#,
                    "take its certificates out with 'openssl pkcs12 -in ARCHIVE -nokeys -out certificates.pem'"
                ),
            ]
            for (member, value, words) in cases {
                let output = try await harness.check([member: value])
                #expect(output.status == 2, "\(value)")
                #expect(
                    output.messages.contains("push.p12 is a PKCS#12 archive and not "),
                    "\(value): \(output.messages)"
                )
                #expect(output.messages.contains(words), "\(value): \(output.messages)")
            }
        }
    }

    @Test func `a key as one line, and a configuration with a byte order mark, are read; one without an end is not`()
        async throws
    {
        try await GatewayHarness.run { harness in
            let key = try harness.directory.read("key.p8")
            _ = try harness.directory.write("key.p8", key.replacing("\n", with: #"\n"#))
            let path = try harness.configuration()
            _ = try harness.directory.write("gateway.json", "\u{feff}" + harness.directory.read("gateway.json"))
            let output = try await FerryProgram.run(["gateway", "--config", path, "--check"], in: harness.directory)
            #expect(output.status == 0, "\(output.messages)")
            let endless = try await FerryProgram.run(["gateway", "--config", "/dev/zero"], in: harness.directory)
            #expect(endless.status == 2)
            #expect(endless.messages == "ferry: /dev/zero has more than 1 MiB, too much for a configuration.\n")
        }
    }

    @Test func `without authorities --check names them, and with --ca they are not needed`() async throws {
        try await GatewayHarness.run { harness in
            let ids = #""keyID": "ABCDE12345", "teamID": "FGHIJ67890""#
            let path = try harness.configuration(["upstreams": #"{"apns": {"p8": "key.p8", \#(ids)}}"#])
            let without = #"SSL_CERT_FILE=/nonexistent/cert.pem SSL_CERT_DIR=/nonexistent/certs exec "$@""#
            let arguments = ["gateway", "--config", path, "--check"]
            let output = try await FerryProgram.run(arguments, in: harness.directory, shell: without)
            #expect(output.status == 2)
            #expect(
                output.messages
                    == "ferry: upstreams.apns: No certificate authorities were found (looked in /nonexistent/cert.pem and "
                    + "/nonexistent/certs, because SSL_CERT_FILE and SSL_CERT_DIR are set), so no server could be trusted: "
                    + "correct or unset SSL_CERT_FILE and SSL_CERT_DIR, or name a file of authorities.\n"
            )
            _ = try harness.configuration()
            let named = try await FerryProgram.run(arguments, in: harness.directory, shell: without)
            #expect(named.status == 0, "\(named.messages)")
        }
    }

    @Test func `the file of a client's certificate is named if it holds none`() async throws {
        try await GatewayHarness.run { harness in
            let client = #"[{"name": "shop", "cert": "key.p8", "topics": ["com.example.shop"]}]"#
            let output = try await harness.check(["clients": client])
            #expect(output.status == 2)
            #expect(output.messages.hasPrefix("ferry: clients[0]: "))
            #expect(output.messages.contains("key.p8 holds a private key and not a certificate"), "\(output.messages)")
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
                + "it (mode 644); chmod o= \(harness.directory.path("key.p8"))\n"
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
            #expect(
                try await eventually { try program.messages.contains("ferry: stops as soon as each client pauses") }
            )
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
            let end = "New connections of shop are refused while its own wait."
            #expect(alarm.first?.hasSuffix(end) == true, "\(alarm)")
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

    @Test(arguments: [nil, true, false]) func `a lost connection is in the list, and the client's member decides`(
        isRepeated: Bool?
    ) async throws {
        try await GatewayHarness.run { harness in
            var configuration = SimulatedAPNs.Configuration(credentials: harness.credentials)
            configuration.script.rules = [HTTP2Rule(at: 2, times: 1, action: .reset)]
            let recorder = APNsMemoryRecorder()
            configuration.recorder = recorder
            let apns = try await SimulatedAPNs.start(configuration)
            let member = isRepeated.map { #", "repeatsUnknown": \#($0)"# } ?? ""
            let client = #"[{"name": "shop", "cert": "client.pem", "topics": ["\#(GatewayHarness.topic)"]\#(member)}]"#
            let (gateway, port) = try await harness.start(
                port: apns.port,
                ["rejections": #""list""#, "clients": client]
            )
            _ = try await harness.push(1...1, to: port)
            _ = try await harness.push(2...2, to: port)
            #expect(try await eventually { try harness.directory.read("list").contains("uncertain") })
            let text = try harness.directory.read("list").split(separator: "\n").first { $0.contains("uncertain") }
            let line = try JSONSerialization.jsonObject(with: Data((text ?? "{}").utf8)) as? [String: Any]
            let keys: Set = ["event", "client", "token", "topic", "apnsId", "at", "again"]
            #expect(line.map { Set($0.keys) } == keys, "\(text ?? "")")
            #expect(line?["again"] as? Bool == isRepeated ?? true)
            #expect(line?["topic"] as? String == GatewayHarness.topic)
            let count = isRepeated ?? true ? 2 : 1
            #expect(try await eventually { recorder.requests.count == count })
            gateway.terminate()
            #expect(try await gateway.output().status == 0)
            await apns.stop()
        }
    }

    @Test func `a store without its mark starts, and says so`() async throws {
        try await GatewayHarness.run { harness in
            let store = ["store": #"{"path": "gateway.db"}"#] as [String: String?]
            let (first, port) = try await harness.start(store)
            _ = try await harness.push(1...1, to: port)
            await first.killAndWait()
            #expect(try !first.messages.contains("gateway.db-mark"))
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

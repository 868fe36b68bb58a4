import FerryAppStore
import FerryAppStoreTesting
import Foundation
import Testing

@Suite(.timeLimit(.minutes(10))) struct AppStoreCommandTests {
    @Test func `what the App Store sends is stored, delivered, shown, and delivered again when asked`() async throws {
        try await AppStoreHarness.run { harness in
            let (receiver, port) = try await harness.serve()
            let (appStore, _) = try await harness.simulate(port, count: 38)
            let lines = try await harness.settled(38, "delivered")
            #expect(Set(lines.map(\.uuid)).count == 38)
            #expect(lines.allSatisfy { $0.deliveries.map(\.attempts) == [1] })
            let shown = try await harness.ferry(["show", lines[0].uuid] + harness.store)
            #expect(shown.status == 0)
            #expect(shown.result.contains(lines[0].uuid))
            #expect(!shown.result.contains("signedPayload"))
            let again = try await harness.ferry(["redeliver", lines[0].uuid] + harness.store)
            #expect(again.result == "{\"redelivered\":1}\n")
            _ = try await harness.settled(38, "delivered")
            appStore.terminate()
            #expect(try await appStore.output().status == 0)
            receiver.terminate()
            let end = try await receiver.output()
            #expect(end.status == 0)
            #expect(
                end.messages.hasPrefix(
                    "ferry: 38 taken, 0 copies, 0 refused, 0 postponed; 39 delivered, 0 attempts failed"
                )
            )
            // Without a process, the commands read the file.
            #expect(try await harness.list(["--state", "delivered"]).count == 38)
            let unknown = try await harness.ferry(["show", "no-such-uuid"] + harness.store)
            #expect(unknown.status == 1)
        }
    }

    @Test func `an application that fails gets each notification later, and the log says why in one sentence`()
        async throws
    {
        try await AppStoreHarness.run(answering: { $0 <= 2 ? 500 : 200 }) { harness in
            let (receiver, port) = try await harness.serve()
            let (appStore, _) = try await harness.simulate(port, count: 2)
            let lines = try await harness.settled(2, "delivered")
            #expect(lines.flatMap { $0.deliveries.map(\.attempts) }.reduce(0, +) == 4)
            #expect(try receiver.messages.contains(" answered 500; the next attempt is in 1 s\n"))
            appStore.terminate()
            receiver.terminate()
            #expect(try await receiver.output().status == 0)
        }
    }

    @Test func `a test is taken and stored, and a recovery fetches what came before the receiver`() async throws {
        try await AppStoreHarness.run { harness in
            // Nobody listens at first, so all wait for Apple's next attempt.
            let (receiver, port) = try await harness.serve()
            receiver.terminate()
            _ = try await receiver.output()
            let (appStore, api) = try await harness.simulate(
                port,
                count: 10,
                ["--record", harness.directory.path("sent")]
            )
            #expect(try await eventually { try harness.directory.read("sent").split(separator: "\n").count == 10 })
            let (second, _) = try await harness.serve(["--listen", "\(port)"])
            let checkpoint = ["--checkpoint", harness.directory.path("place.json")]
            let recovered = try await harness.ferry(
                ["recover", "--since", "2026-01-01"] + checkpoint + api + harness.store
            )
            #expect(recovered.status == 0, "\(recovered.messages)")
            #expect(recovered.number("stored") == 10)
            #expect(recovered.summary["complete"] as? Bool == true)
            let repeated = try await harness.ferry(["recover"] + checkpoint + api + harness.store)
            #expect(repeated.number("stored") == 0)
            _ = try await harness.settled(10, "delivered")
            let test = try await harness.ferry(["test"] + api + harness.store)
            #expect(test.status == 0, "\(test.messages)")
            #expect(test.summary["result"] as? String == "SUCCESS")
            #expect(test.summary["stored"] as? Bool == true)
            let refused = try await harness.ferry(["test"] + api + ["--key-id", "WRONGKEY01"])
            #expect(refused.status == 3)
            appStore.terminate()
            second.terminate()
            #expect(try await second.output().status == 0)
        }
    }

    @Test func `verify prints a genuine notification, names the check that failed, and tells an output that is full`()
        async throws
    {
        try await TemporaryDirectory.with { directory in
            let maker = try NotificationMaker(app: .init(bundleID: "com.example.app", appAppleID: 1_234_567_890))
            let root = ["--root", try directory.write("root.pem", maker.signer.rootPEM)]
            var copy = maker
            let post = try copy.make(.init(.didRenew))
            let file = try directory.write("post.json", post.post)
            let genuine = try await FerryProgram.run(["appstore", "verify", file] + root, in: directory)
            #expect(genuine.status == 0)
            #expect(genuine.summary["notificationUUID"] as? String == post.uuid)
            let forged = try await FerryProgram.run(["appstore", "verify", file], in: directory)
            #expect(forged.status == 1)
            #expect(forged.messages.hasPrefix("ferry: forged: "))
            #expect(forged.result == "")
            let other = try await FerryProgram.run(
                ["appstore", "verify", file, "--app", "com.example.other"] + root,
                in: directory
            )
            #expect(other.status == 1)
            #expect(other.messages.hasPrefix("ferry: otherApp: "))
            let full = try await FerryProgram.run(
                ["appstore", "verify", file] + root,
                in: directory,
                shell: #"exec "$@" >/dev/full"#
            )
            #expect(full.status != 0)
            #expect(full.messages.contains("No space left on device"))
        }
    }

    @Test func `a transaction or a renewal is named, and verified with --transaction`() async throws {
        try await TemporaryDirectory.with { directory in
            let maker = try NotificationMaker(app: .init(bundleID: "com.example.app", appAppleID: 1_234_567_890))
            let root = ["--root", try directory.write("root.pem", maker.signer.rootPEM)]
            func sign(_ json: String) throws -> String { try maker.signer.sign(Array(json.utf8)) }
            func verify(_ arguments: [String]) async throws -> FerryProgram.Output {
                try await FerryProgram.run(["appstore", "verify"] + arguments + root, in: directory)
            }
            let common = #""bundleId":"com.example.app","environment":"Sandbox","signedDate":1790000000000"#
            let transaction = try sign(#"{"transactionId":"1",\#(common)}"#)
            let renewal = try sign(
                #"{"autoRenewProductId":"a","autoRenewStatus":1,"environment":"Sandbox","signedDate":1790000000000}"#
            )
            let app = try sign(
                #"{"receiptType":"Sandbox","bundleId":"com.example.app","receiptCreationDate":1790000000000}"#
            )
            let cases = [
                ("transaction", transaction, "a signed transaction"), ("renewal", renewal + "\n", "a signed renewal"),
                ("app", app, "a signed app transaction"),
                ("answer", #"{"signedTransactionInfo":"\#(transaction)"}"#, "a signed transaction"),
            ]
            for (name, text, words) in cases {
                let file = try directory.write(name, "\u{feff}" + text)
                let without = try await verify([file])
                #expect(without.status == 2)
                #expect(without.messages == "ferry: This is \(words) and no notification: --transaction verifies it.\n")
                let output = try await verify([file, "--transaction"])
                #expect(output.status == 0, "\(output.messages)")
                #expect(output.result.hasPrefix("{"))
            }
            let foreign = try await FerryProgram.run(
                ["appstore", "verify", directory.path("transaction"), "--transaction"],
                in: directory
            )
            #expect(foreign.status == 1)
            #expect(foreign.messages.hasPrefix("ferry: forged: "))
            let other = try await verify([directory.path("transaction"), "--transaction", "--app", "com.example.other"])
            #expect(other.status == 1)
            #expect(other.messages.hasPrefix("ferry: otherApp: "))
            var copy = maker
            let post = try directory.write("post.json", copy.make(.init(.didRenew)).post)
            let notification = try await verify([post, "--transaction"])
            #expect(notification.status == 2)
            #expect(notification.messages.hasSuffix("leave out --transaction.\n"), "\(notification.messages)")
            let next = try String(decoding: copy.make(.init(.didRenew)).post, as: UTF8.self)
            let many = try directory.write("many", "\(transaction)\n\(next)\n")
            let lines = try await verify([many, "--lines"])
            #expect(lines.status == 1)
            #expect(lines.result.contains("This is a signed transaction and no notification"))
            #expect(lines.result.contains("{\"line\":2,\"genuine\":true"), "\(lines.result)")
        }
    }

    @Test func `an input without an end is refused at its bound, also as lines`() async throws {
        try await TemporaryDirectory.with { directory in
            let output = try await FerryProgram.run(
                ["appstore", "verify", "/dev/zero"],
                in: directory,
                shell: #"ulimit -v 4000000; exec "$@""#
            )
            #expect(output.status == 2)
            #expect(
                output.messages
                    == "ferry: The input has more than 2 MiB, too much for one notification; --lines takes many.\n"
            )
            let line = try directory.write(
                "long",
                [UInt8](repeating: UInt8(ascii: "x"), count: 3 << 20) + Array("\na\n".utf8)
            )
            let lines = try await FerryProgram.run(["appstore", "verify", line, "--lines"], in: directory)
            #expect(lines.status == 1)
            let results = lines.result.split(separator: "\n")
            #expect(results.count == 2)
            #expect(results.first?.contains("The line is longer than 2 MiB.") == true, "\(lines.result)")
        }
    }

    @Test func `a list whose reader has enough ends quietly, and so does help`() async throws {
        try await TemporaryDirectory.with { directory in
            var maker = try NotificationMaker(app: .init(bundleID: "com.example.app", appAppleID: 1_234_567_890))
            var configuration = AppStoreVerifier.Configuration(apps: [maker.app])
            configuration.trustRoots = .pem(maker.signer.rootPEM)
            let post = try maker.make(.init(.didRenew)).post
            let notification = try AppStoreVerifier(configuration).verify(post: post)
            let store = AppStoreStore(path: directory.path("store.db"))
            try await store.open()
            #expect(await store.take(notification, post: []) == .taken(isNew: true))
            await store.close()
            let lines = try directory.write("lines", "a\n\(String(decoding: post, as: UTF8.self))\n")
            let root = ["--root", try directory.write("root.pem", maker.signer.rootPEM)]
            // The reader closes the pipe before the program writes.
            let fifo = directory.path("go")
            let shell = #"""
                mkfifo '\#(fifo)'
                { read line <'\#(fifo)'; "$@"; echo "status $?" >&2; } | { exec <&-; echo >'\#(fifo)'; }
                rm '\#(fifo)'
                """#
            for (arguments, status) in [
                (["appstore", "list", "--store", directory.path("store.db")], 0),
                (["appstore", "show", notification.uuid, "--store", directory.path("store.db")], 0),
                (["appstore", "verify", lines, "--lines"] + root, 1), (["--help"], 0),
            ] {
                let output = try await FerryProgram.run(arguments, in: directory, shell: shell)
                #expect(output.messages == "status \(status)\n", "\(arguments)")
            }
        }
    }

    @Test func `a number of an app that is none is named`() async throws {
        try await TemporaryDirectory.with { directory in
            for number in ["12x", "", "0", "-7", "99999999999999999999"] {
                let output = try await FerryProgram.run(
                    ["appstore", "verify", "/dev/null", "--app", "com.example.app:\(number)"],
                    in: directory
                )
                #expect(output.status == 2)
                #expect(
                    output.messages.contains("--app: behind the colon stands the app's number in App Store Connect")
                )
            }
        }
    }

    @Test func `a target that redirects is told in the log and in the list, with where to`() async throws {
        try await AppStoreHarness.run(answering: { _ in 301 }) { harness in
            let (receiver, port) = try await harness.serve()
            let (appStore, _) = try await harness.simulate(port, count: 1)
            let words = "answered 301 and redirects to no place (it has no Location), which is not followed"
            #expect(try await eventually { try receiver.messages.contains(words) })
            var result = ""
            repeat {
                result = try await harness.ferry(["list"] + harness.store).result
            } while !result.contains("failure") && !Task.isCancelled
            #expect(result.contains("\(words): name the URL at the end"), "\(result)")
            appStore.terminate()
            receiver.terminate()
            #expect(try await receiver.output().status == 0)
        }
    }

    @Test(arguments: [
        (["--plain"], "Say what becomes of notifications"),
        (["--store", "a.db"], "Give the URL's certificate, --cert and --key; or --plain"),
        (["--plain", "--forward", "http://localhost/"], "--forward needs --forward-secret-file"),
        (["--plain", "--forward-post", "http://localhost/"], "--forward-post needs --store"),
        (
            ["--plain", "--forward", "localhost:80", "--forward-secret-file", "secret"],
            "--forward cannot be used: The URL begins with neither https:// nor http://."
        ),
        (
            ["--plain", "--store", "a.db", "--forward-post", "http://a:b@localhost/"],
            "--forward-post cannot be used: The URL holds a user or a password"
        ),
        (
            ["--plain", "--forward", "http://localhost/", "--forward-secret-file", "short"],
            "short holds a line that is no secret for forwarding"
        ),
        (
            ["--plain", "--forward", "http://localhost/", "--forward-secret-file", "no.txt"],
            "The file no.txt does not exist."
        ),
        (["--plain", "--store", "a.db", "--root", "short"], "--root"),
    ])
    func `serve explains wrong options, and quotes no secret`(_ options: [String], _ words: String) async throws {
        try await TemporaryDirectory.with { directory in
            _ = try directory.write("secret", "whsec_\(Data(repeating: 7, count: 32).base64EncodedString())\n")
            _ = try directory.write("short", "whsec_aHVudGVyMg==\n")
            let output = try await FerryProgram.run(
                ["appstore", "serve", "--app", "com.example.app", "--listen", "0"] + options,
                in: directory,
                shell: "cd '\(directory.path(""))' && exec \"$@\""
            )
            #expect(output.status == 2)
            #expect(output.messages.contains(words), "\(output.messages)")
            #expect(!output.messages.contains("aHVudGVyMg"))
        }
    }

    @Test func `a start of serve that fails ends, although nobody reads standard error`() async throws {
        try await TemporaryDirectory.with { directory in
            let pipe = try FullPipe(in: directory)
            let program = try FerryProgram(
                [
                    "appstore", "serve", "--app", "com.example.app", "--listen", "0", "--plain", "--store",
                    directory.path("none/store.db"),
                ],
                in: directory,
                shell: "exec \"$@\" 2>'\(pipe.path)'"
            )
            #expect(await program.ends(within: .seconds(60)))
            #expect(try await program.output().status == 2)
            #expect(pipe.read() == "")
            await program.killAndWait()
        }
    }

    @Test func `a store that does not exist is not made by a command that looks into it`() async throws {
        try await TemporaryDirectory.with { directory in
            let output = try await FerryProgram.run(
                ["appstore", "list", "--store", directory.path("none.db")],
                in: directory
            )
            #expect(output.status == 2)
            #expect(output.messages.contains("none.db does not exist; 'ferry appstore serve' makes it."))
            #expect(!FileManager.default.fileExists(atPath: directory.path("none.db")))
        }
    }
}

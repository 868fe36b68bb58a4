import FerryAppStore
import FerryTesting
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

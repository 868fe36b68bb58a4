import FerryOpenSSL
import Foundation
import Testing

/// A misplaced secret must appear in no message.
@Suite(.serialized, .timeLimit(.minutes(30))) struct SecretsTests {
    /// Secrets that a user may type or paste in the wrong place. Each has `mark` in every part that may be quoted. A
    /// secret that looks like a host name is missing: where a host name belongs, the program cannot recognise it.
    private static let secrets: [String] = [
        "Hunter2+geheim",
        "geheim correct geheim horse geheim",
        "geheim/with/geheim",
        "-geheim7",
        "--geheim=geheim",
        "geheimMIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgV5wk+geheim/4Vq5nZ=",
        "-----BEGIN PRIVATE KEY-----\nMIGHgeheimAgEAMBMGByqGSM49\ngeheimAgEGCCqGSM49\n-----END PRIVATE KEY-----\n",
        "MIGHgeheimAgEAMBMGByqGSM49\ngeheimAgEGCCqGSM49AwEHBG0wawIB\n",
        #"{"passphrase":"geheim","key":"geheim.pem","cert":"cert.pem"}"#,
        "eyJgeheimhbGciOiJFUzI1NiJ9.eyJgeheimpc3MiOiJURUFNIn0.geheim\(String(repeating: "c2lnbmF0dXJl", count: 7))",
    ]
    private static let mark = "geheim"

    private static let token = "--p8 key.p8 --key-id ABCDE12345 --team-id FGHIJ67890"

    /// Command lines with `$` in the place of the secret. The rest is correct, but no server listens on port 1.
    private static let commandLines: [String] = [
        "$", "help $", "$ push", "push $", "push lines $", "push lines --$", "push lines -$",
        "push lines --to localhost:1 --cert $", "push lines --to localhost:1 --cert=$",
        "push lines --to localhost:1 --cert cert.pem --key $", "push lines --to localhost:1 --cert cert.pem --key=$",
        "push lines --to localhost:1 --p12 $", "push lines --to localhost:1 --p12 cert.pem --passphrase-file $",
        "push lines --to localhost:1 --p12 cert.pem --passphrase-file=$", "push lines --passphrase $",
        "push lines --passphrase=$", "push lines --password=$", "push lines --to localhost:1 --ca $",
        "push lines --to $", "push lines --to=$:2195", "push lines --to localhost:$", "push lines --config $",
        "push lines --config=$ -v", "push lines --server-name=$ --to localhost:1",
        "push lines --events=none/$ --to localhost:1", "push lines --backend $", "push lines --streams=$",
        "push lines --rate $", "push lines --json=$", "push lines --verbose=$",
        "push lines --topic=$ --to localhost:1 --connection-retry-limit 1 -v",
        "push lines --backend http2 --to localhost:1 --p8 $ --key-id ABCDE12345 --team-id FGHIJ67890",
        "push lines --backend http2 --to localhost:1 --p8=$ --key-id ABCDE12345 --team-id FGHIJ67890 -v",
        "push lines --backend http2 --to localhost:1 --p8 key.p8 --key-id=$ --team-id FGHIJ67890",
        "push lines --backend http2 --to localhost:1 --p8 key.p8 --key-id ABCDE12345 --team-id=$",
        "push lines --backend http2 --to localhost:1 --provider-token-file=$",
        "push lines --backend http2 --to localhost:1 \(token) --proxy=$",
        "push lines --backend http2 --to localhost:1 \(token) --proxy localhost:1 --proxy-user=a --proxy-password-file=$",
        "push lines --backend http2 --to localhost:1 \(token) --proxy localhost:1 --proxy-user=$ -v",
        "push lines --to localhost:1 --cert cert.pem --dry-run --key=$", "feedback $",
        "feedback --to localhost:1 --cert=$", "feedback --to localhost:1 --cert cert.pem --key=$",
        "feedback --to localhost:1 --p12=$", "feedback --to localhost:1 --p12 cert.pem --passphrase-file=$",
        "feedback --to localhost:1 --ca=$", "feedback --config=$", "feedback --to localhost:1 --since=$", "token $",
        "token --p8=$", "token --p8=$ --key-id ABCDE12345 --team-id FGHIJ67890",
        "token --p8 key.p8 --key-id=$ --team-id FGHIJ67890", "token --p8 key.p8 --key-id ABCDE12345 --team-id=$",
        "appstore verify $ --transaction", "appstore verify lines --app com.example.app:$",
        "appstore serve --app a.b --listen 0 --plain --store none/s.db --certificates-from=$",
        "appstore serve --app a.b --listen 0 --plain --store none/s.db --admin-port 0 --admin-token-file=$",
        "appstore serve --app a.b --listen 0 --plain --store none/s.db --admin-port 0 --admin-cert=$ --admin-key=$",
        "appstore serve --app a.b --listen 0 --plain --store none/s.db --admin-socket=$", "channels $",
        "channels list --topic=$ --to localhost:1 \(token)",
        "channels create --topic com.example.ferry --policy=$ --to localhost:1 \(token)",
        "channels read $ --topic com.example.ferry --to localhost:1 \(token)",
        "channels delete $ --topic com.example.ferry --to localhost:1 \(token)",
        "channels list --topic com.example.ferry --to localhost:1 --p8=$ --key-id ABCDE12345 --team-id FGHIJ67890",
        "channels list --topic com.example.ferry --to localhost:1 --cert=$", "channels list --timeout=$",
        "doctor $ --timeout 1", "doctor --cert=$", "doctor --cert cert.pem --key=$", "doctor --p12=$",
        "doctor --p12 cert.pem --passphrase-file=$", "doctor --p8=$ --key-id ABCDE12345 --team-id FGHIJ67890",
        "doctor --p8 key.p8 --key-id=$ --team-id=$", "doctor localhost:1 --ca=$",
        "doctor localhost:1 --server-name=$", "doctor --config=$", "doctor --cert cert.pem --environment=$",
        "simulate $", "simulate --binary=$", "simulate --binary 0 --host=$", "simulate --binary 0 --script=$",
        "simulate --binary 0 --record=none/$", "simulate --binary 0 --tls-dir=lines/$",
        "simulate --binary 0 --cert=$ --client-ca cert.pem", "simulate --binary 0 --client-ca=$",
        "simulate --binary 0 --cert cert.pem --client-ca cert.pem --key=$",
        "simulate --binary 0 --p12 cert.pem --client-ca cert.pem --passphrase-file=$", "record $",
        "record none/$ --listen 0 --to localhost:1", "record none/x --listen 0 --to localhost:1 --cert=$",
        "record none/x --listen 0 --to localhost:1 --ca=$", "replay $ --to localhost:1", "replay $ --listen 0",
        "replay lines --to localhost:1 --cert=$", "replay lines --mode=$ --to localhost:1", "demo $", "bench $",
        "bench binary --run=$", "--version=$", "--generate-completion-script $", "--generate-completion-script=$",
    ]

    /// The number of secrets that each command line is tested with. It is small because starting a process takes time,
    /// and each command line gets different ones.
    private static let share = 2

    @Test func `no command says a secret in the place of something else`() async throws {
        try await TemporaryDirectory.with { directory in
            _ = try directory.write("lines", "")
            let identity = try ThrowAwayCA().client()
            _ = try directory.write("cert.pem", identity.certificateChainPEM)
            _ = try directory.write("key.p8", ES256Key.generate().p8())
            for (index, commandLine) in Self.commandLines.enumerated() {
                for secret in Self.secrets(index) {
                    let arguments = commandLine.split(separator: " ").map { String($0).replacing("$", with: secret) }
                    let output = try await FerryProgram.run(
                        arguments,
                        in: directory,
                        shell: "cd '\(directory.path(""))'; exec \"$@\""
                    )
                    let said = output.result + output.messages
                    #expect(!said.contains(Self.mark), "\(commandLine) with \(secret): \(said)")
                }
            }
        }
    }

    private static func secrets(_ index: Int) -> [String] {
        (0..<self.share).map { self.secrets[(index * self.share + $0) % self.secrets.count] }
    }

    @Test func `a configuration's secrets stay where they are, also in a member of another name`() async throws {
        try await TemporaryDirectory.with { directory in
            let members = ["key", "cert", "pfx", "passphrase", "ca", "port", "voip", "interval", "topic"]
            let uses = [["push", "-", "--dry-run"], ["feedback"], ["doctor"]]
            var count = 0
            for secret in Self.secrets(2) + Self.secrets(3) {
                var objects: [[String: Any]] = members.map { [$0: secret, "address": "localhost"] }
                objects += [
                    ["cert": "cert.pem", "key": secret, "address": "localhost"], [secret: "cert.pem"],
                    ["cert": ["type": "Buffer", "data": secret]], ["ca": [secret, secret], "address": "localhost"],
                    ["address": secret],
                ]
                for object in objects {
                    count += 1
                    let config = try directory.write("config.json", JSONSerialization.data(withJSONObject: object))
                    let arguments = uses[count % uses.count] + ["--config", config]
                    let output = try await FerryProgram.run(arguments, in: directory)
                    let said = output.result + output.messages
                    #expect(!said.contains(Self.mark), "\(arguments) with \(object): \(said)")
                }
            }
        }
    }

    @Test(arguments: ["push", "feedback", "token", "record"])
    func `credentials that others can read are warned of, and are used`(command: String) async throws {
        try await TemporaryDirectory.with { directory in
            let identity = try ThrowAwayCA().client()
            let archive = try directory.write("p.p12", identity.pkcs12(passphrase: "geheim"), mode: 0o640)
            let certificate = try directory.write("cert.pem", identity.certificateChainPEM, mode: 0o644)
            let key = try directory.write("key.pem", identity.privateKeyPEM(), mode: 0o644)
            let token = try directory.write("key.p8", ES256Key.generate().p8(), mode: 0o666)
            let passphrase = try directory.write("pass.txt", "geheim\n", mode: 0o604)
            let p12 = ["--p12", archive, "--passphrase-file", passphrase]
            let pair = ["--cert", certificate, "--key", key]
            let tokenKey = ["--p8", token, "--key-id", "ABCDE12345", "--team-id", "FGHIJ67890"]
            let lines = try directory.write("lines", "")
            let runs: [([String], [String])] =
                switch command {
                case "push":
                    [
                        (["push", lines, "--to", "localhost:1"] + p12, [passphrase]),
                        (["push", lines, "--to", "localhost:1"] + pair, [key]),
                        (["push", lines, "--to", "localhost:1", "--backend", "http2"] + tokenKey, [token]),
                    ]
                case "feedback": [(["feedback", "--to", "localhost:1"] + pair, [key])]
                case "record":
                    [(["record", "/nowhere/x.transcript", "--listen", "0", "--to", "localhost:1"] + pair, [key])]
                default: [(["token"] + tokenKey, [token])]
                }
            for (arguments, files) in runs {
                let output = try await FerryProgram.run(arguments, in: directory)
                let warnings = output.messages.split(separator: "\n").filter { $0.hasPrefix("ferry: warning:") }
                #expect(warnings.count == files.count, "\(arguments): \(output.messages)")
                for file in files {
                    #expect(
                        warnings.contains {
                            $0.hasPrefix("ferry: warning: \(file) holds a ")
                                && $0.contains(", and other users may read or change it (mode 6")
                                && $0.hasSuffix("); chmod \(file == token ? "g-w,o=" : "o=") \(file)")
                        }
                    )
                }
            }
        }
    }

    @Test func `files with tokens of devices are for their owner only, and one that is there keeps its mode`()
        async throws
    {
        try await PushHarness.run { harness in
            let events = harness.directory.path("events.jsonl")
            let open = try harness.directory.write("open.jsonl", "", mode: 0o644)
            for file in [events, open] {
                let output = try await harness.push(harness.arguments(harness.lines(1...2)), "--events", file)
                #expect(output.status == 0)
            }
            #expect(try harness.directory.mode("events.jsonl") == 0o600)
            #expect(try harness.directory.mode("open.jsonl") == 0o644)
        }
    }
}

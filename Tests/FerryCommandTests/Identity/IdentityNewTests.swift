import FerryOpenSSL
import Foundation
import Testing

@testable import FerryCommand

@Suite(.timeLimit(.minutes(10))) struct IdentityNewTests {
    private static let topic = "com.example.app"

    /// Makes an identity in the folder `made` of a directory.
    private func make(_ directory: TemporaryDirectory, _ options: [String] = []) async throws -> FerryProgram.Output {
        try await FerryProgram.run(
            ["identity", "new", "--topic", Self.topic, "--dir", directory.path("made")] + options,
            in: directory
        )
    }

    private func identity(_ directory: TemporaryDirectory, _ name: String) throws -> TLSIdentity {
        try TLSIdentity(
            certificatePath: directory.path("made/\(name).pem"),
            privateKeyPath: directory.path("made/\(name)-key.pem")
        )
    }

    @Test func `the server is known by Apple's names, by this machine's, and by those that were given`() async throws {
        try await TemporaryDirectory.with { directory in
            let hosts = [
                "--host", "gateway.internal", "--host", "192.0.2.7", "--host", "2001:db8::7", "--host", "localhost.",
            ]
            let output = try await self.make(directory, hosts + ["--days", "100"])
            #expect(output.status == 0)
            #expect(output.messages == "")
            let server = try self.identity(directory, "server").summary
            #expect(server.commonName == "gateway.internal")
            #expect(server.dnsNames == ["gateway.internal"] + NewIdentity.appleNames + ["localhost"])
            #expect(server.ipAddresses == ["192.0.2.7", "2001:db8:0:0:0:0:0:7", "127.0.0.1", "0:0:0:0:0:0:0:1"])
            #expect(server.keyKind == "RSA 2048")
            #expect(abs(server.notAfter.timeIntervalSinceNow - 100 * 86_400) < 3600)
            #expect(try directory.read("made/gateway.json").contains(#""host": "0.0.0.0""#))
            #expect(
                output.result.contains(
                    "connect to gateway.internal or 192.0.2.7 or 2001:db8::7 or localhost., port 2195."
                ),
                "\(output.result)"
            )
        }
    }

    @Test func `the client looks like Apple's, in every form, and Apple is not its issuer`() async throws {
        try await TemporaryDirectory.with { directory in
            let secret = try directory.write("secret.txt", "a secret of mine\nand more\n")
            #expect(try await self.make(directory, ["--passphrase-file", secret]).status == 0)
            let client = try self.identity(directory, "client").summary
            #expect(client.userID == Self.topic)
            #expect(client.commonName == "Apple Push Services: \(Self.topic)")
            #expect(client.environments == [.sandbox, .production])
            #expect(client.keyKind == "RSA 2048")
            #expect(client.issuer.contains("Ferry private authority"))
            #expect(!client.issuer.contains("Apple"))
            let combined = directory.path("made/client-combined.pem")
            #expect(try TLSIdentity(certificatePath: combined).summary == client)
            for name in ["client.p12", "client-legacy.p12"] {
                let archive = try TLSIdentity(
                    pkcs12Path: directory.path("made/\(name)"),
                    passphrase: "a secret of mine"
                )
                #expect(archive.summary == client)
                #expect(!archive.neededLegacyProvider)
            }
            #expect(!FileManager.default.fileExists(atPath: directory.path("made/client-passphrase.txt")))
        }
    }

    @Test func `a new passphrase stands in a file, and only the owner may read a file with a secret`() async throws {
        try await TemporaryDirectory.with { directory in
            let output = try await self.make(directory)
            #expect(output.status == 0)
            let line = try directory.read("made/client-passphrase.txt")
            let passphrase = String(line.dropLast())
            #expect(passphrase.utf8.count == 32)
            #expect(!output.result.contains(passphrase))
            #expect(throws: Never.self) {
                try TLSIdentity(pkcs12Path: directory.path("made/client-legacy.p12"), passphrase: passphrase)
            }
            for file in IdentityFiles.File.allCases {
                #expect(try directory.mode("made/\(file.rawValue)") == (file.isSecret ? 0o600 : 0o644), "\(file)")
                #expect(output.result.contains("made/\(file.rawValue) "), "\(file)")
            }
            #expect(try directory.mode("made") == 0o700)
            #expect(output.result.contains("ferry gateway --config"))
            #expect(output.result.contains("let it connect to 127.0.0.1, port 2195."), "\(output.result)")
            #expect(output.result.contains("ferry simulate --http2"), "\(output.result)")
        }
    }

    @Test func `nothing is overwritten`() async throws {
        try await TemporaryDirectory.with { directory in
            #expect(try await self.make(directory).status == 0)
            let files = IdentityFiles.File.allCases.map { "made/\($0.rawValue)" }
            let before = try files.map { try directory.read($0) }
            let all = try await self.make(directory)
            #expect(all.status == 2)
            #expect(all.messages.hasSuffix("already, and nothing is overwritten: name another directory with --dir.\n"))
            #expect(all.messages.split(separator: "\n").count == 1)
            #expect(try files.map { try directory.read($0) } == before)
            for file in files.dropFirst() { try FileManager.default.removeItem(atPath: directory.path(file)) }
            let one = try await self.make(directory)
            #expect(one.status == 2)
            #expect(one.messages.hasPrefix("ferry: ca.pem exists in \(directory.path("made")) already"))
            #expect(try FileManager.default.contentsOfDirectory(atPath: directory.path("made")) == ["ca.pem"])
        }
    }

    @Test func `the configuration is refused until the key of provider tokens is filled in`() async throws {
        try await TemporaryDirectory.with { directory in
            #expect(try await self.make(directory).status == 0)
            let path = directory.path("made/gateway.json")
            let check = ["gateway", "--config", path, "--check"]
            let empty = try await FerryProgram.run(check, in: directory)
            #expect(empty.status == 2)
            #expect(empty.messages.contains("upstreams.apns: "), "\(empty.messages)")
            #expect(empty.messages.contains("FILL-IN.p8 does not exist"), "\(empty.messages)")
            #expect(empty.messages.split(separator: "\n").count == 1)
            _ = try directory.write("made/AuthKey.p8", ES256Key.generate().p8())
            let keyed = try directory.read("made/gateway.json").replacing("FILL-IN.p8", with: "AuthKey.p8")
            _ = try directory.write("made/gateway.json", keyed)
            let nameless = try await FerryProgram.run(check, in: directory)
            #expect(nameless.status == 2)
            #expect(nameless.messages.contains("The key ID must be"), "\(nameless.messages)")
            let whole = keyed.replacing(#""keyID": "FILL-IN""#, with: #""keyID": "ABCDE12345""#)
                .replacing(#""teamID": "FILL-IN""#, with: #""teamID": "FGHIJ67890""#)
            _ = try directory.write("made/gateway.json", whole)
            let good = try await FerryProgram.run(check, in: directory)
            #expect(good.status == 0, "\(good.messages)")
        }
    }

    @Test func `a topic that is longer than a common name may be is the user ID in full`() async throws {
        try await TemporaryDirectory.with { directory in
            let topic = "com.example." + String(repeating: "long", count: 20)
            let output = try await FerryProgram.run(
                ["identity", "new", "--topic", topic, "--dir", directory.path("made")],
                in: directory
            )
            #expect(output.status == 0)
            let client = try self.identity(directory, "client").summary
            #expect(client.userID == topic)
            #expect(client.commonName?.utf8.count == 64)
        }
    }

    @Test(arguments: [
        ([], "Missing expected argument '--topic"), (["--topic", "not a topic"], "--topic takes the app's bundle ID"),
        (["--topic", "a.b", "--days", "0"], "--days takes 1 to 36500."),
        (["--topic", "a.b", "--days", "-1"], "--days takes 1 to 36500."),
        (["--topic", "a.b", "--host", "a,DNS:b"], "--host takes the name or the address of a host."),
        (["--topic", "a.b", "--host", "fe80::1%eth0"], "--host takes the name or the address of a host."),
        (["--topic", "a.b", "--passphrase-file", "/dev/null"], "is empty"),
    ])
    func `bad usage is status 2 and makes nothing`(arguments: [String], words: String) async throws {
        try await TemporaryDirectory.with { directory in
            let output = try await FerryProgram.run(
                ["identity", "new", "--dir", directory.path("made")] + arguments,
                in: directory
            )
            #expect(output.status == 2)
            #expect(output.messages.contains(words), "\(output.messages)")
            #expect(output.result == "")
            #expect(!FileManager.default.fileExists(atPath: directory.path("made")))
        }
    }
}

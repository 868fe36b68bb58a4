import FerryCore
import FerryHTTP2
import FerryOpenSSL
import Foundation
import Testing

@Suite(.timeLimit(.minutes(10))) struct TokenCommandTests {
    private static let identifiers = ["--key-id", "ABCDE12345", "--team-id", "FGHIJ67890"]

    @Test func `the token alone is the result, and the key's signature is on it`() async throws {
        try await TemporaryDirectory.with { directory in
            let key = try ES256Key.generate()
            let path = try directory.write("AuthKey_ABCDE12345.p8", key.p8())
            let output = try await FerryProgram.run(["token", "--p8", path] + Self.identifiers, in: directory)
            #expect(output.status == 0)
            #expect(output.messages == "")
            #expect(output.result.hasSuffix("\n"))
            let parts = output.result.dropLast().split(separator: ".", omittingEmptySubsequences: false)
            try #require(parts.count == 3)
            #expect(
                Base64URL.decode(parts[0].utf8) == Array(#"{"alg":"ES256","kid":"ABCDE12345"}"#.utf8)
            )
            let signature = try #require(Base64URL.decode(parts[2].utf8))
            #expect(key.isValidSignature(signature, for: Array("\(parts[0]).\(parts[1])".utf8)))
        }
    }

    @Test func `a key that lost its line breaks is read, and FIPS without its provider is told in OpenSSL's words`()
        async throws
    {
        try await TemporaryDirectory.with { directory in
            let text = try String(decoding: ES256Key.generate().p8(), as: UTF8.self)
            for (name, form) in [
                ("breaks.p8", text.replacing("\n", with: #"\n"#)), ("line.p8", text.replacing("\n", with: "")),
                ("base64.p8", Data(text.utf8).base64EncodedString()), ("mark.p8", "\u{feff}" + text),
            ] {
                let path = try directory.write(name, form)
                let output = try await FerryProgram.run(["token", "--p8", path] + Self.identifiers, in: directory)
                #expect(output.status == 0, "\(name): \(output.messages)")
            }
            let path = try directory.write("key.p8", text)
            let settings = try directory.write(
                "fips.cnf",
                "openssl_conf = all\n[all]\nalg_section = algorithms\n[algorithms]\ndefault_properties = fips=yes\n"
            )
            let output = try await FerryProgram.run(
                ["token", "--p8", path] + Self.identifiers,
                in: directory,
                shell: #"OPENSSL_CONF='\#(settings)' exec "$@""#
            )
            #expect(output.status == 2)
            #expect(
                output.messages.hasSuffix("; openssl.cnf demands FIPS, and its provider is not loaded.\n"),
                "\(output.messages)"
            )
            let lines = try directory.write("lines", PushHarness.line(1))
            let push = try await FerryProgram.run(
                [
                    "push", lines, "--backend", "http2", "--to", "localhost:1", "--topic", "a.b", "--p8", path,
                ] + Self.identifiers,
                in: directory,
                shell: #"OPENSSL_CONF='\#(settings)' exec "$@""#
            )
            #expect(push.status == 2)
            #expect(
                push.messages.contains("OpenSSL cannot make a context (SSL routines: library has no ciphers)"),
                "\(push.messages)"
            )
        }
    }

    @Test func `in JSON it comes with its times`() async throws {
        try await TemporaryDirectory.with { directory in
            let path = try directory.write("key.p8", ES256Key.generate().p8())
            let before = Int(Date().timeIntervalSince1970)
            let output = try await FerryProgram.run(
                ["token", "--json", "--p8", path] + Self.identifiers,
                in: directory
            )
            let after = Int(Date().timeIntervalSince1970)
            #expect(output.status == 0)
            #expect(Set(output.summary.keys) == ["token", "issuedAt", "expiresAt"])
            let issuedAt = try #require(output.number("issuedAt"))
            #expect((before...after).contains(issuedAt))
            #expect(output.number("expiresAt") == issuedAt + 3600)
            let token = try #require(output.summary["token"] as? String)
            let claims = try #require(Base64URL.decode(token.split(separator: ".")[1].utf8))
            #expect(String(decoding: claims, as: UTF8.self) == #"{"iss":"FGHIJ67890","iat":\#(issuedAt)}"#)
        }
    }

    @Test func `bad usage and bad files are status 2, one sentence, and no result`() async throws {
        try await TemporaryDirectory.with { directory in
            let key = try directory.write("key.p8", ES256Key.generate().p8())
            let rsa = try directory.write("rsa.p8", ThrowAwayCA().client(key: .rsa2048).privateKeyPEM())
            let encrypted = try directory.write("encrypted.p8", ThrowAwayCA().client().privateKeyPEM(passphrase: "x"))
            let text = try directory.write("text.p8", "no key\n")
            let team = ["--team-id", "FGHIJ67890"]
            let cases: [([String], String)] = [
                ([], "Say whose token: --p8 FILE, --key-id ID and --team-id ID."),
                (Self.identifiers, "--key-id and --team-id need --p8."),
                (["--p8", key], "--p8 needs --key-id and --team-id."),
                (["--p8", key] + team, "--p8 needs --key-id."),
                (["--p8", directory.path("none")] + Self.identifiers, "does not exist"),
                (["--p8", rsa] + Self.identifiers, "not P-256"),
                (["--p8", encrypted] + Self.identifiers, "is encrypted; a .p8 file is read without passphrase."),
                (["--p8", text] + Self.identifiers, "holds no private key"),
                (["--p8", key, "--key-id", "ABCDE1234"] + team, "The key ID must be 10 capital letters and digits"),
                (["--p8", key, "--key-id", "abcde12345"] + team, "and this has others"),
                (
                    ["--p8", key, "--key-id", "ABCDE12345", "--team-id", "com.example"],
                    "The team ID must be 10 capital letters and digits, and this has 11 characters"
                ),
            ]
            for (arguments, words) in cases {
                let output = try await FerryProgram.run(["token"] + arguments, in: directory)
                #expect(output.status == 2, "\(words)")
                #expect(output.messages.contains(words), "\(words): \(output.messages)")
                #expect(output.result == "")
            }
        }
    }
}

import FerryOpenSSL
import FerryTesting
import Foundation
import Testing

@Suite(.timeLimit(.minutes(10))) struct SimulateCommandTests {
    /// Starts `ferry simulate` and returns it with its port.
    static func start(_ arguments: [String], in directory: TemporaryDirectory) async throws -> (FerryProgram, Int) {
        let program = try FerryProgram(["simulate", "--binary", "0"] + arguments, in: directory)
        #expect(try await eventually { try program.result.hasSuffix("}\n") })
        let ports = try JSONSerialization.jsonObject(with: Data(program.result.utf8)) as? [String: Int]
        return (program, try #require(ports?["binary"]))
    }

    @Test func `simulate serves push, and its record has what was accepted`() async throws {
        try await TemporaryDirectory.with { directory in
            let tls = directory.path("tls")
            let script = try directory.write("script", #"{"rules":[{"at":3,"times":1}]}"#)
            let record = directory.path("record")
            let (program, port) = try await Self.start(
                ["--tls-dir", tls, "--script", script, "--record", record],
                in: directory
            )
            let lines = try directory.write("lines", (1...10).map { PushHarness.line($0) + "\n" }.joined())
            let output = try await FerryProgram.run(
                [
                    "push", lines, "--json", "--to", "localhost:\(port)", "--ca", "\(tls)/ca.pem",
                    "--p12", "\(tls)/client.p12", "--passphrase-file", "\(tls)/client-passphrase.txt",
                ] + PushHarness.proving,
                in: directory
            )
            #expect(output.status == 1)
            #expect(output.number("rejected") == 1)
            #expect(try await eventually { try directory.read("record").split(separator: "\n").count == 9 })
            program.interrupt()
            let end = try await program.output()
            #expect(end.status == 0)
            #expect(end.messages.hasPrefix("ferry: binary: 9 accepted, "), "\(end.messages)")
            #expect(try directory.read("record").split(separator: "\n").count == 9)
        }
    }

    @Test func `simulate serves feedback beside the gateway, which puts devices on its list`() async throws {
        try await TemporaryDirectory.with { directory in
            let tls = directory.path("tls")
            let script = try directory.write(
                "script",
                #"{"rules":[{"at":2,"action":"gone","since":9}],"feedback":{"tuples":[{"token":"aa","time":8}]}}"#
            )
            let (program, port) = try await Self.start(
                ["--feedback", "0", "--tls-dir", tls, "--script", script],
                in: directory
            )
            let ports = try JSONSerialization.jsonObject(with: Data(program.result.utf8)) as? [String: Int]
            let feedback = try #require(ports?["feedback"])
            let credentials = [
                "--ca", "\(tls)/ca.pem", "--p12", "\(tls)/client.p12", "--passphrase-file",
                "\(tls)/client-passphrase.txt",
            ]
            let lines = try directory.write("lines", (1...3).map { PushHarness.line($0) + "\n" }.joined())
            let push = ["push", lines, "--json", "--to", "localhost:\(port)", "--settle-time", "1"]
            #expect(try await FerryProgram.run(push + credentials, in: directory).status == 0)
            let output = try await FerryProgram.run(
                ["feedback", "--json", "--to", "localhost:\(feedback)"] + credentials,
                in: directory
            )
            #expect(output.status == 0)
            #expect(
                output.result == """
                    {"token":"aa","timestamp":8,"date":"1970-01-01T00:00:08Z"}
                    {"token":"\(PushHarness.token(2))","timestamp":9,"date":"1970-01-01T00:00:09Z"}

                    """
            )
            program.terminate()
            #expect(try await program.output().status == 0)
        }
    }

    @Test func `simulate serves HTTP2 with the script's section, and records in the same file`() async throws {
        try await TemporaryDirectory.with { directory in
            let tls = directory.path("tls")
            let script = try directory.write("script", #"{"http2":{"rules":[{"prefix":"bad0","status":410}]}}"#)
            let program = try FerryProgram(
                [
                    "simulate", "--binary", "0", "--http2", "0", "--tls-dir", tls, "--script", script, "--record",
                    directory.path("record"),
                ],
                in: directory
            )
            #expect(try await eventually { try program.result.hasSuffix("}\n") })
            let ports = try JSONSerialization.jsonObject(with: Data(program.result.utf8)) as? [String: Int]
            #expect(try #require(ports?["binary"]) > 0)
            let port = try #require(ports?["http2"])
            let provider = try HTTP2Asker(tlsDirectory: tls, port: port)
            #expect(try await provider.ask(token: "00ff") == 200)
            #expect(try await provider.ask(token: "bad0") == 410)
            program.interrupt()
            #expect(try await program.output().status == 0)
            let lines = try directory.read("record").split(separator: "\n")
            #expect(lines.count == 1)
            #expect(lines.first?.contains(#""token":"00ff""#) == true)
        }
    }

    @Test func `a certificate and an authority of yours take the place of made ones`() async throws {
        try await TemporaryDirectory.with { directory in
            let (servers, clients) = (try ThrowAwayCA(), try ThrowAwayCA())
            let server = try servers.server(dnsNames: ["localhost", "gateway.example.com"])
            _ = try directory.write("servers.pem", servers.certificatePEM)
            let clientCA = try directory.write("clients.pem", clients.certificatePEM)
            let pair = [
                "--cert", try directory.write("server.pem", server.certificateChainPEM),
                "--key", try directory.write("server-key.pem", server.privateKeyPEM()),
            ]
            let archive = [
                "--p12", try directory.write("server.p12", server.pkcs12(passphrase: "geheim")),
                "--passphrase-file", try directory.write("passphrase.txt", "geheim\n"),
            ]
            for (name, authority) in [("good", clients), ("bad", servers)] {
                let client = try authority.client()
                _ = try directory.write("\(name).pem", client.certificateChainPEM + client.privateKeyPEM())
            }
            let lines = try directory.write("lines", (1...3).map { PushHarness.line($0) + "\n" }.joined())
            for identity in [pair, archive] {
                let (program, port) = try await Self.start(identity + ["--client-ca", clientCA], in: directory)
                let push = [
                    "push", lines, "--json", "--to", "localhost:\(port)", "--settle-time", "0.1",
                    "--server-name", "gateway.example.com", "--ca", directory.path("servers.pem"), "--cert",
                ]
                let good = try await FerryProgram.run(push + [directory.path("good.pem")], in: directory)
                #expect(good.status == 0, "\(good.messages)")
                #expect(good.number("submitted") == 3)
                let bad = try await FerryProgram.run(push + [directory.path("bad.pem")], in: directory)
                #expect(bad.status == 3)
                program.interrupt()
                #expect(try await program.output().status == 0)
            }
        }
    }

    @Test func `bad usage is status 2 and one sentence`() async throws {
        try await TemporaryDirectory.with { directory in
            let script = try directory.write("script", #"{"rules":[{"prefx":"00"}]}"#)
            let status = try directory.write("status", #"{"rules":[{"at":1},{"prefix":"00","status":410}]}"#)
            let reason = try directory.write("reason", #"{"rules":[{"prefix":"00","reason":"Unregistered"}]}"#)
            let file = try directory.write("file", "")
            let cases: [([String], String)] = [
                ([], "--binary PORT, --feedback PORT, --http2 PORT, --app-store PORT, or several"),
                (["--binary", "65536"], "--binary takes a port, 0 to 65535."),
                (["--binary", "-1"], "--binary takes a port, 0 to 65535."),
                (["--feedback", "65536"], "--feedback takes a port"),
                (["--http2", "65536"], "--http2 takes a port"),
                (["--feedback", "0", "--record", "record"], "--record needs --binary, --http2 or --app-store-url"),
                (["--binary", "0", "--host", "192.0.2.1"], "Cannot listen"),
                (["--binary", "0", "--script", script], "prefx"),
                (
                    ["--binary", "0", "--script", status],
                    "'status' is a whole number, 0 to 255; rules for HTTP/2 stand under 'http2'."
                ),
                (["--binary", "0", "--script", reason], "Rules for HTTP/2 stand under 'http2'."),
                (["--binary", "0", "--record", "-"], "--record takes a file, and no - for standard output"),
                (["--binary", "x7y8"], "The number of a port is wanted."),
                (["--binary", "0", "--script", directory.path("none")], "does not exist"),
                (["--binary", "0", "--record", "/none/record"], "No such file or directory"),
                (["--binary", "0", "--tls-dir", "\(file)/tls"], "No TLS credentials"),
                (["--binary", "0", "--tls-max", "2"], "--tls-max"),
                (["--binary", "0", "--cert", "none.pem"], "Say who may vouch for clients: --client-ca FILE"),
                (["--http2", "0", "--cert", "none.pem"], "The file none.pem does not exist."),
                (["--binary", "0", "--client-ca", "none.pem"], "The file none.pem does not exist."),
                (["--binary", "0", "--client-ca", file], "holds no certificate"),
                (["--binary", "0", "--key", "key.pem"], "--key needs --cert."),
                (["--binary", "0", "--passphrase-file", file], "--passphrase-file needs --p12"),
            ]
            for (arguments, words) in cases {
                let output = try await FerryProgram.run(["simulate"] + arguments, in: directory)
                #expect(output.status == 2, "\(words)")
                #expect(output.messages.contains(words), "\(words): \(output.messages)")
                #expect(output.result == "")
            }
        }
    }

    @Test func `a record that would overwrite the script is refused`() async throws {
        try await TemporaryDirectory.with { directory in
            let script = try directory.write("script", "{}")
            try FileManager.default.createSymbolicLink(atPath: directory.path("link"), withDestinationPath: script)
            try FileManager.default.linkItem(atPath: script, toPath: directory.path("hard"))
            for name in ["script", "link", "hard"] {
                let output = try await FerryProgram.run(
                    ["simulate", "--binary", "0", "--script", script, "--record", directory.path(name)],
                    in: directory
                )
                #expect(output.status == 2)
                #expect(
                    output.messages
                        == "ferry: The record would overwrite the script; give --record a file of its own.\n"
                )
                #expect(try directory.read("script") == "{}")
            }
        }
    }
}

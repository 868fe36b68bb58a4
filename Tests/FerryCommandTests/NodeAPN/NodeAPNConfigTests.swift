import FerryOpenSSL
import FerryTesting
import Foundation
import Testing

/// Tests of `ferry push --config`, from the file to the gateway.
@Suite(.timeLimit(.minutes(10))) struct NodeAPNConfigTests {
    /// Writes an options object for the harness's gateway, with the members of `more` added.
    private static func config(_ harness: PushHarness, _ more: [String: Any] = [:]) throws -> String {
        let object: [String: Any] = [
            "cert": harness.directory.path("client.pem"), "key": harness.directory.path("client-key.pem"),
            "ca": harness.directory.path("ca.pem"), "address": "localhost", "port": harness.gateway.port,
        ]
        return try Self.write(harness, object.merging(more) { $1 })
    }

    private static func write(_ harness: PushHarness, _ object: [String: Any]) throws -> String {
        try harness.directory.write("config.json", JSONSerialization.data(withJSONObject: object))
    }

    @Test func `a node-apn options object sends, and each option is said once`() async throws {
        try await PushHarness.run { harness in
            let config = try Self.config(harness, ["cacheLength": 1000, "autoAdjustCache": false, "fastMode": true])
            let output = try await harness.push(
                ["push", harness.lines(1...50), "--config", config, "--json", "--settle-time", "0.1"]
            )
            #expect(output.status == 0)
            #expect(output.number("submitted") == 50)
            #expect(harness.recorder.notifications.count == 50)
            #expect(
                output.messages == """
                    cert: as --cert \(harness.directory.path("client.pem"))
                    key: as --key \(harness.directory.path("client-key.pem"))
                    address "localhost": the host of --to
                    port \(harness.gateway.port): the port of --to
                    ca: as --ca \(harness.directory.path("ca.pem"))
                    cacheLength 1000: as --cache-length 1000, which counts with --no-auto-adjust or --cache-policy evict
                    autoAdjustCache false: as --no-auto-adjust
                    fastMode true: always: what is ready is written together

                    """
            )
        }
    }

    @Test func `PEM text and a Buffer stand in place of files`() async throws {
        try await PushHarness.run { harness in
            let archive = try harness.authority.client().pkcs12(passphrase: "geheim")
            let objects: [[String: Any]] = [
                [
                    "cert": try harness.directory.read("client.pem"),
                    "key": try harness.directory.read("client-key.pem"),
                    "ca": [try harness.directory.read("ca.pem")], "gateway": "localhost", "port": harness.gateway.port,
                ],
                [
                    "certData": try harness.directory.read("client.pem") + harness.directory.read("client-key.pem"),
                    "rejectUnauthorized": false, "address": "localhost", "port": harness.gateway.port,
                ],
                [
                    "pfx": ["type": "Buffer", "data": archive.map { Int($0) }], "passphrase": "geheim",
                    "ca": harness.directory.path("ca.pem"), "address": "localhost", "port": harness.gateway.port,
                ],
            ]
            for (index, object) in objects.enumerated() {
                let config = try Self.write(harness, object)
                let output = try await harness.push(
                    ["push", harness.lines(1...3), "--config", config, "--json", "--settle-time", "0.1"]
                )
                #expect(output.status == 0, "\(output.messages)")
                #expect(harness.recorder.notifications.count == 3 * (index + 1))
                #expect(!output.messages.contains("geheim"))
                #expect(!output.messages.contains("BEGIN"))
            }
        }
    }

    @Test func `voip, legacy and a passphrase file work with a configuration`() async throws {
        var script = GatewayScript()
        script.payloadLimit = 4096
        try await PushHarness.run(script) { harness in
            let archive = try harness.directory.write("p.p12", harness.authority.client().pkcs12(passphrase: "right"))
            let right = try harness.directory.write("right.txt", "right\n")
            let object: [String: Any] = [
                "pfx": archive, "passphrase": "wrong", "ca": harness.directory.path("ca.pem"), "address": "localhost",
                "port": harness.gateway.port, "voip": true, "legacy": true, "connectTimeout": 0,
            ]
            let long = String(repeating: "x", count: 3000)
            let line = #"{"token":"\#(PushHarness.token(1))","payload":{"text":"\#(long)"}}"#
            let output = try await harness.push(
                [
                    "push", harness.directory.write("long", line), "--config", Self.write(harness, object), "--json",
                    "--settle-time", "0.1", "--passphrase-file", right,
                ]
            )
            #expect(output.status == 0, "\(output.messages)")
            #expect(harness.recorder.notifications.map(\.payload.count) == [long.utf8.count + 11])
        }
    }

    @Test func `the command line counts in place of the file`() async throws {
        try await PushHarness.run { harness in
            let config = try Self.config(
                harness,
                [
                    "cert": "/none/cert.pem", "key": "/none/key.pem", "ca": "/none/ca.pem", "port": 1,
                    "maxConnections": 9,
                ]
            )
            let output = try await harness.push(
                harness.arguments(harness.lines(1...3)),
                "--config",
                config,
                "--connections",
                "1"
            )
            #expect(output.status == 0)
            #expect(output.messages.contains("cert: not used, --cert of the command line counts\n"))
            #expect(output.messages.contains("port 1: not used, --to of the command line counts\n"))
            #expect(output.messages.contains("ca: not used, --ca of the command line counts\n"))
            #expect(output.messages.contains("maxConnections 9: not used, --connections of the command line counts\n"))
            #expect(harness.recorder.notifications.count == 3)
        }
    }

    @Test func `a dry run says what is wrong, and sends nothing`() async throws {
        try await PushHarness.run { harness in
            let good = try await harness.push(
                ["push", harness.lines(1...3), "--config", Self.config(harness), "--dry-run"]
            )
            #expect(good.status == 0)
            #expect(good.result == "")
            #expect(good.messages.hasSuffix("nothing was sent: this was a dry run; 3 lines are good\n"))
            let bad = try await harness.push(
                ["push", "--config", Self.config(harness, ["key": "/none/key.pem"]), "--dry-run"]
            )
            #expect(bad.status == 2)
            #expect(bad.messages.hasSuffix("ferry: The file /none/key.pem does not exist.\n"))
            #expect(harness.gateway.counts.connections == 0)
        }
    }

    @Test func `a file of no use is status 2 and one sentence`() async throws {
        try await PushHarness.run { harness in
            let lines = try harness.lines(1...3)
            let archive = try harness.authority.client().pkcs12(passphrase: "right")
            let text = try harness.directory.read("client.pem")
            let files: [(String, String)] = [
                ("module.exports = {passphrase: 'geheim'}", "config.json: The options are not one JSON object"),
                (#"["geheim"]"#, "config.json: The options are not one JSON object"),
                (
                    #"{"address":"a","cert":1}"#,
                    "config.json: cert takes the name of a file, or PEM text, not a number\n"
                ),
                (#"{"cert":"geheim.pem""#, "config.json: The options are not one JSON object"),
                (
                    "{}",
                    "Say where to send: --to HOST:PORT, --production, --sandbox, or address or production in --config."
                ),
                (#"{"production":true}"#, "Apple switched gateway.push.apple.com off on 2021-03-31"),
                (String(repeating: " ", count: 1 << 20) + "{}", "has more than 1 MiB"),
                (#"{"address":"a","cert":\#(Self.quoted(text))}"#, "the text of 'cert'"),
                (
                    #"{"address":"a","port":1,"address":"b"}"#,
                    "config.json: The option 'address' stands there twice."
                ),
                (
                    #"{"passphrase":"geheim","geheim1":1,"geheim1":2}"#,
                    "The option with a name of 7 bytes stands there twice"
                ),
                (
                    #"{"address":"a","pfx":{"type":"Buffer","data":\#(archive)},"passphrase":"geheim"}"#,
                    "the text of 'pfx'"
                ),
            ]
            for (file, words) in files {
                let config = try harness.directory.write("config.json", file)
                let output = try await harness.push(["push", lines, "--config", config])
                #expect(output.status == 2, "\(words)")
                #expect(output.messages.contains(words), "\(words): \(output.messages)")
                #expect(!output.messages.contains("geheim"), "\(output.messages)")
                #expect(output.result == "")
            }
            let none = try await harness.push(["push", lines, "--config", "/none/config.json"])
            #expect(none.status == 2)
            #expect(
                none.messages == "ferry: The options cannot be read: /none/config.json: No such file or directory\n"
            )
        }
    }

    private static func quoted(_ text: String) -> String { "\"\(text.replacing("\n", with: "\\n"))\"" }
}

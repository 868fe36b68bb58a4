import Ferry
import FerryTesting
import Foundation
import Testing

@Suite(.timeLimit(.minutes(10))) struct ChannelsCommandTests {
    /// Runs `ferry channels …` against the simulated APNs, with a provider token unless other credentials are given.
    private static func run(
        _ harness: APNsHarness,
        _ arguments: [String],
        as credentials: [String]? = nil,
        shell: String? = nil
    ) async throws -> FerryProgram.Output {
        try await FerryProgram.run(
            ["channels"] + arguments + ["--topic", APNsHarness.topic, "--timeout", "300", "--connect-timeout", "300"]
                + harness.server() + (credentials ?? harness.token()),
            in: harness.directory,
            shell: shell
        )
    }

    @Test(arguments: [[], ["--json"]])
    func `a channel whose id cannot be written is named in the message`(options: [String]) async throws {
        try await APNsHarness.run { harness in
            let full = #"exec "$@" >/dev/full"#
            let made = try await Self.run(harness, ["create"] + options, shell: full)
            #expect(made.status == 1)
            let id = try await Self.run(harness, ["list"]).result.trimmingCharacters(in: .newlines)
            #expect(made.messages.hasPrefix("ferry: The channel \(id) was made: keep this id. "), "\(made.messages)")
            #expect(made.messages.hasSuffix("No space left on device\n"))
            let deleted = try await Self.run(harness, ["delete", id] + options, shell: full)
            #expect(deleted.status == 1)
            #expect(deleted.messages.hasPrefix("ferry: The channel \(id) was deleted. "), "\(deleted.messages)")
        }
    }

    @Test func `a channel is made, read, listed and deleted, and the result alone is printed`() async throws {
        try await APNsHarness.run { harness in
            let made = try await Self.run(harness, ["create", "--policy", "latest"])
            #expect(made.status == 0, "\(made.messages)")
            #expect(made.messages == "")
            let id = made.result.trimmingCharacters(in: .newlines)
            #expect(ChannelID(rawValue: id) != nil)
            let read = try await Self.run(harness, ["read", id])
            #expect(read.result == "message storage policy: 1 (Most Recent Message Stored)\npush type: LiveActivity\n")
            let list = try await Self.run(harness, ["list"], as: harness.certificate)
            #expect(list.result == "\(id)\n")
            let deleted = try await Self.run(harness, ["delete", id])
            #expect(deleted.status == 0)
            #expect(deleted.result == "deleted \(id)\n")
            let empty = try await Self.run(harness, ["list"])
            #expect(empty.status == 0)
            #expect(empty.result == "")
        }
    }

    @Test func `in JSON there is one object`() async throws {
        try await APNsHarness.run { harness in
            let made = try await Self.run(harness, ["create", "--json", "--policy", "0"])
            #expect(Set(made.summary.keys) == ["channelId", "messageStoragePolicy"])
            #expect(made.number("messageStoragePolicy") == 0)
            let id = try #require(made.summary["channelId"] as? String)
            let read = try await Self.run(harness, ["read", id, "--json"])
            #expect(read.summary["channelId"] as? String == id)
            #expect(read.summary["pushType"] as? String == "LiveActivity")
            #expect(read.number("messageStoragePolicy") == 0)
            #expect(try await Self.run(harness, ["list", "--json"]).summary["channels"] as? [String] == [id])
            #expect(try await Self.run(harness, ["delete", id, "--json"]).summary["deleted"] as? String == id)
        }
    }

    @Test func `a refusal is status 1, and refused credentials are status 3`() async throws {
        try await APNsHarness.run { harness in
            let missing = try await Self.run(harness, ["delete", "YQ=="])
            #expect(missing.status == 1)
            #expect(missing.result == "")
            #expect(missing.messages.contains("ChannelNotRegistered (status 400). There is no such channel"))
            let token = try await Self.run(harness, ["list"], as: harness.token(keyID: "ABCDE12345"))
            #expect(token.status == 3)
            #expect(token.messages.contains("InvalidProviderToken"))
        }
    }

    @Test func `a creation without an answer is status 1, and says to look before the next`() async throws {
        try await APNsHarness.run(rules: [HTTP2Rule(channels: [.create], action: .loseAnswer)]) { harness in
            let lost = try await Self.run(harness, ["create"])
            #expect(lost.status == 1)
            #expect(lost.result == "")
            #expect(lost.messages.contains("list the channels before you create another"))
            let list = try await Self.run(harness, ["list", "--json"])
            #expect((list.summary["channels"] as? [String])?.count == 1)
        }
    }

    @Test func `no connection and an unknown authority are status 3`() async throws {
        try await APNsHarness.run { harness in
            let base = ["channels", "list", "--topic", APNsHarness.topic] + harness.token()
            let nobody = try await FerryProgram.run(
                base + ["--to", "localhost:1", "--ca", harness.directory.path("ca.pem")],
                in: harness.directory
            )
            #expect(nobody.status == 3)
            #expect(nobody.messages.contains("Nothing listens there"))
            let stranger = try await FerryProgram.run(
                base + ["--to", "localhost:\(harness.apns.port)"],
                in: harness.directory
            )
            #expect(stranger.status == 3)
            #expect(stranger.messages.contains("--ca"))
        }
    }

    @Test func `bad usage is status 2, one sentence, and no result`() async throws {
        try await APNsHarness.run { harness in
            let topic = ["--topic", APNsHarness.topic]
            let cases: [([String], String)] = [
                (["list"] + harness.server() + harness.token(), "--topic"),
                (["list"] + topic + harness.token(), "Say where to send"),
                (["list"] + topic + harness.server(), "APNs wants credentials"),
                (["list"] + topic + harness.server() + harness.token() + harness.certificate, "excludes"),
                (["list", "--topic", "a/b"] + harness.server() + harness.token(), "The bundle ID is not"),
                (
                    ["create", "--policy", "2"] + topic + harness.server() + harness.token(),
                    "'none', 'latest', '0' or '1'"
                ),
                (["read"] + topic + harness.server() + harness.token(), "<channel>"),
                (["delete"] + topic + harness.server() + harness.token(), "<channel>"),
                (
                    ["delete", "no channel!"] + topic + harness.server() + harness.token(),
                    "The id of a channel is wanted"
                ),
                (["list", "--timeout", "0"] + topic + harness.server() + harness.token(), "--timeout takes seconds"),
                (["list", "--to", "api.push.apple.com:443"] + topic + harness.token(), "is not for channels"),
            ]
            for (arguments, words) in cases {
                let output = try await FerryProgram.run(["channels"] + arguments, in: harness.directory)
                #expect(output.status == 2, "\(arguments)")
                #expect(output.result == "")
                #expect(output.messages.contains(words), "\(arguments): \(output.messages)")
            }
        }
    }

    @Test(arguments: [[], ["create"], ["read"], ["delete"], ["list"]]) func `help has examples`(arguments: [String])
        async throws
    {
        try await TemporaryDirectory.with { directory in
            let output = try await FerryProgram.run(["channels"] + arguments + ["--help"], in: directory)
            #expect(output.status == 0)
            #expect(output.result.contains("Examples:"))
            #expect(output.result.contains("ferry channels"))
        }
    }
}

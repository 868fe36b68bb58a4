import ArgumentParser
import Ferry
import FerryBinary
import FerryHTTP2
import FerryOptions
import Testing

@testable import FerryCommand

/// ArgumentParser reads the table through a mirror, which its documentation does not promise. If a new version breaks these
/// tests, generate the properties as a Swift file.
@Suite struct OptionArgumentsTests {
    private struct Probe: ParsableCommand {
        @OptionGroup(title: "Connections") var connections: OptionArguments<ConnectionSection>
        @OptionGroup(title: "Binary protocol") var binary: OptionArguments<BinarySection>
        @OptionGroup(title: "HTTP/2") var http2: OptionArguments<HTTP2Section>
        @OptionGroup(title: "Credentials") var credentials: CredentialOptions
    }

    private static func message(_ arguments: [String]) -> String {
        do {
            _ = try Probe.parse(arguments)
            return ""
        } catch {
            return Probe.message(for: error)
        }
    }

    @Test func `options are parsed into the values of the table, and the last one counts`() throws {
        let probe = try Probe.parse([
            "--connections", "7", "--connections", "8", "--settle-time", "0.5", "--no-auto-adjust", "--cache-policy",
            "evict", "--probe-when-held", "--cert", "c.pem", "--no-circuit-breaker", "--connection-retry-limit", "0",
        ])
        var binary = BinaryOptions()
        binary.set { probe.connections[$0] ?? probe.binary[$0] }
        var expected = BinaryOptions()
        expected.maxConnections = 8
        expected.settleTime = .seconds(0.5)
        expected.autoAdjustCache = false
        expected.cachePolicy = .evict
        expected.probeWhenHeld = true
        expected.connectionRetryLimit = nil
        #expect(binary == expected)
        var http2 = HTTP2Options()
        http2.set { probe.http2[$0] }
        #expect(http2.circuitBreaker == nil)
        #expect(probe.credentials.text("cert") == "c.pem")
        #expect(probe.credentials.text("key") == nil)
        #expect(probe.binary.given == ["--cache-policy", "--no-auto-adjust", "--settle-time", "--probe-when-held"])
    }

    @Test func `without options nothing is given, and nothing changes`() throws {
        let probe = try Probe.parse([])
        var binary = BinaryOptions()
        binary.set { probe.connections[$0] ?? probe.binary[$0] }
        #expect(binary == BinaryOptions())
        #expect(probe.connections.given + probe.binary.given + probe.http2.given + probe.credentials.given == [])
    }

    @Test func `the help has a section for each group, with values and defaults`() {
        let help = Probe.helpMessage(columns: 200)
        for words in [
            "\nBINARY PROTOCOL:\n", "\nHTTP/2:\n", "--cache-policy <cache-policy>",
            "(values: hold, evict; default: hold)",
            "--auto-adjust/--no-auto-adjust", "--settle-time <seconds>", "(default: 1.0)", "--no-circuit-breaker",
            "--cert <file>",
        ] {
            #expect(help.contains(words), "\(words): \(help)")
        }
    }

    @Test(arguments: [CompletionShell.bash, .zsh, .fish])
    func `each shell completes options and the words of a choice`(shell: CompletionShell) {
        let script = Probe.completionScript(for: shell)
        for word in ["cache-policy", "evict", "no-auto-adjust", "device-interval"] { #expect(script.contains(word)) }
    }

    @Test(
        arguments: [
            (["--cache-polici", "hold"], "Did you mean '--cache-policy'?"),
            (["--connections", "x"], "is invalid for '--connections <n>': it takes a whole number, 1 to 1000"),
            (["--connections", "1.5"], "it takes a whole number, 1 to 1000"),
            (["--connections", "0"], "--connections takes a whole number, 1 to 1000."),
            (["--connections", "-1"], "--connections takes a whole number, 1 to 1000."),
            (["--cache-policy", "drop"], #"it takes one of "hold", "evict""#),
            (["--settle-time", "0"], "--settle-time takes seconds, more than 0 and at most 86400."),
            (["--settle-time", "nan"], "--settle-time takes seconds, more than 0 and at most 86400."),
            (["--connection-retry-time", "86401"], "--connection-retry-time takes seconds, 0 to 86400."),
            (["--cert", "a", "--p12", "b"], "--cert and --p12 exclude each other."),
            (["--cert"], "Missing value for '--cert <file>'"),
        ]
    )
    func `a bad option is one sentence`(arguments: [String], words: String) {
        let message = Self.message(arguments)
        #expect(message.contains(words), "\(message)")
    }
}

import FerryTesting
import Testing

@testable import FerryCommand

@Suite(.timeLimit(.minutes(10))) struct ScriptCheckTests {
    private static func check(_ json: String, _ simulated: ScriptCheck.Service...) throws -> ScriptCheck {
        ScriptCheck(script: try GatewayScript(json: json.utf8), simulated: Set(simulated))
    }

    private static let rules = #""rules":[{"prefix":"bad0"}]"#

    @Test func `a script for another service alone is a fault that names key and place`() throws {
        let check = try Self.check("{\(Self.rules),\"keepsOpen\":true}", .http2)
        #expect(
            check.fault == """
                The script says "keepsOpen" and "rules" to the binary gateway, which is not simulated (--binary); what is \
                for HTTP/2 stands under "http2".
                """
        )
        #expect(try Self.check("{\"http2\":{\(Self.rules)}}", .binary).fault?.contains("\"http2\" to HTTP/2") == true)
        #expect(try Self.check(#"{"feedback":{"times":1,"fault":"truncates"}}"#, .binary).fault != nil)
    }

    @Test func `a script of which a part has an effect is none, and the other part is named`() throws {
        let check = try Self.check("{\(Self.rules),\"http2\":{\(Self.rules)}}", .http2)
        #expect(check.fault == nil)
        #expect(check.warnings.count == 1)
        #expect(check.warnings.first?.hasPrefix("The script says \"rules\" to the binary gateway") == true)
    }

    @Test func `rules for one of two simulated protocols are named`() throws {
        #expect(
            try Self.check("{\(Self.rules)}", .binary, .http2).warnings
                == ["The script's rules are for the binary gateway only; those for HTTP/2 stand under \"http2\"."]
        )
        #expect(
            try Self.check("{\"http2\":{\(Self.rules)}}", .binary, .http2).warnings
                == [
                    "The script's rules are for HTTP/2 only; those for the binary gateway stand at the top of the script."
                ]
        )
    }

    @Test(arguments: [
        "{}", "{\(Self.rules),\"http2\":{\(Self.rules)}}", #"{"errorDelaySeconds":1,"http2":{"coldStart":false}}"#,
    ])
    func `what has an effect is not spoken of`(json: String) throws {
        let check = try Self.check(json, .binary, .http2, .feedback)
        #expect(check.fault == nil)
        #expect(check.warnings == [])
    }

    @Test func `simulate refuses a script without effect, and warns of one with half an effect`() async throws {
        try await TemporaryDirectory.with { directory in
            let script = try directory.write("script", "{\(Self.rules)}")
            let refused = try await FerryProgram.run(["simulate", "--http2", "0", "--script", script], in: directory)
            #expect(refused.status == 2)
            #expect(refused.result == "")
            #expect(refused.messages.hasPrefix("ferry: The script says \"rules\" to the binary gateway"))

            let program = try FerryProgram(
                ["simulate", "--http2", "0", "--binary", "0", "--script", script],
                in: directory
            )
            #expect(try await eventually { try program.result.hasSuffix("}\n") })
            program.interrupt()
            let output = try await program.output()
            #expect(output.status == 0)
            #expect(output.messages.hasPrefix("ferry: warning: The script's rules are for the binary gateway only"))
        }
    }
}

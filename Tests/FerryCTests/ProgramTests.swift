import CFerry
import FerryCore
import FerryTesting
import Foundation
import Testing

/// Whole programs in C and C++ that send over real sockets.
@Suite(.serialized, .timeLimit(.minutes(10))) struct ProgramTests {
    private static let account = "Tests/FerryCTests/Programs/account.c"

    @Test(arguments: CProgram.Language.allCases)
    func `a program accounts for each notification of four threads`(language: CProgram.Language) async throws {
        try await CProgram.with(Self.account, as: language) { program in
            let result = try await program.run([#"{"backend":"echo"}"#, "100000", "4"])
            #expect(result.status == 0 && result.output == "99900 100 0\n", "\(result.output)")
        }
    }

    @Test func `a program accounts for each notification over HTTP/2`() async throws {
        try await CProgram.with(Self.account, as: .c99) { program in
            let directory = program.directory.appending(path: "tls").path()
            var server = SimulatedAPNs.Configuration(credentials: try TLSDirectory.open(directory))
            server.script.rules = [
                HTTP2Rule(prefix: [0xba, 0xd0], action: .respond, status: 400, reason: .badDeviceToken)
            ]
            let apns = try await SimulatedAPNs.start(server)
            let result = try await program.run([
                """
                {"backend":"http2","host":"\(apns.host)","port":\(apns.port),"serverName":"localhost",\
                "ca":"tls/ca.pem","p8":"tls/token-key.p8","keyId":"FERRYKEY01","teamId":"FERRYTEAM1",\
                "topic":"com.example.ferry"}
                """, "20000", "2",
            ])
            await apns.stop()
            #expect(result.status == 0 && result.output == "19980 20 0\n", "\(result.output)")
        }
    }

    private static func startAPNs(
        _ program: CProgram
    ) async throws -> (apns: SimulatedAPNs, options: String) {
        let directory = program.directory.appending(path: "tls").path()
        let apns = try await SimulatedAPNs.start(.init(credentials: try TLSDirectory.open(directory)))
        let options = """
            "backend":"http2","host":"\(apns.host)","port":\(apns.port),"serverName":"localhost","ca":"tls/ca.pem",\
            "p8":"tls/token-key.p8","keyId":"FERRYKEY01","teamId":"FERRYTEAM1","topic":"com.example.ferry"
            """
        return (apns, options)
    }

    // With "echo" the first handle needs no OpenSSL, and with one notification the handshake comes after `exit` began. Exit
    // handlers run in the reverse order of their registration, so OpenSSL could free its memory before the handshake.
    @Test(arguments: [["5000"], ["5000", "free"], ["1", "echo"]])
    func `exit in the middle of sending loses nothing, and keeps its status`(arguments: [String]) async throws {
        try await CProgram.with("Tests/FerryCTests/Programs/exit.c", as: .c99) { program in
            let (apns, options) = try await Self.startAPNs(program)
            for more in [#","atExit":60"#, #","atExit":60,"shared":"a""#] {
                let before = apns.counts.accepted
                let result = try await program.run(["{\(options)\(more)}"] + arguments)
                #expect(result.status == 7 && result.output.isEmpty, "\(result.output)")
                #expect(apns.counts.accepted - before == Int(arguments[0]))
            }
            await apns.stop()
        }
    }

    @Test func `exit says how many were left, and waits no longer than its limit`() async throws {
        try await CProgram.with("Tests/FerryCTests/Programs/exit.c", as: .c99) { program in
            let (apns, options) = try await Self.startAPNs(program)
            await apns.stop()
            let result = try await program.run([#"{"atExit":0.1,\#(options)}"#, "30"])
            #expect(result.status == 7)
            let line =
                "ferry: at the end of the process, 30 notifications were not delivered, and 0 may have been.\n"
            #expect(result.output == line)
        }
    }

    @Test func `exit does not wait for a standard error that nobody reads`() async throws {
        try await CProgram.with("Tests/FerryCTests/Programs/exit.c", as: .c99) { program in
            let (apns, options) = try await Self.startAPNs(program)
            await apns.stop()
            // The pipe is full: the program's line would wait for ever.
            let result = try await program.shell(
                """
                mkfifo full; exec 3<>full
                dd if=/dev/zero of=full bs=4096 count=16 2>/dev/null
                timeout 30 ./program '{"atExit":0.1,\(options)}' 30 2>&3; echo $?
                """
            )
            #expect(result.output == "7\n")
        }
    }

    @Test func `exit without a limit ends at once, and without a crash`() async throws {
        try await CProgram.with("Tests/FerryCTests/Programs/exit.c", as: .c99) { program in
            let (apns, options) = try await Self.startAPNs(program)
            for _ in 0..<10 {
                let result = try await program.run(["{\(options)}", "2000"])
                #expect(result.status == 7 && result.output.isEmpty, "\(result.output)")
            }
            await apns.stop()
        }
    }

    @Test func `a child of fork opens its own provider, and cannot use its parent's`() async throws {
        try await CProgram.with("Tests/FerryCTests/Programs/fork.c", as: .c99) { program in
            let result = try await program.run([])
            #expect(result.status == 0, "\(result.output)")
        }
    }

    @Test func `a child sends on the thread on which its parent has sent`() async throws {
        try await CProgram.with("Tests/FerryCTests/Programs/child.c", as: .c99) { program in
            let (apns, options) = try await Self.startAPNs(program)
            for _ in 0..<3 {
                let result = try await program.run(["{\(options)}", "20000"])
                #expect(result.status == 0, "\(result.output)")
            }
            await apns.stop()
        }
    }

    @Test func `a child of fork has no copy of its parent's sockets`() async throws {
        try await CProgram.with("Tests/FerryCTests/Programs/sockets.c", as: .c99) { program in
            let (apns, options) = try await Self.startAPNs(program)
            let result = try await program.run(["{\(options)}"])
            #expect(result.status == 0)
            await apns.stop()
        }
    }

    @Test func `the example of the documentation runs`() async throws {
        try await CProgram.with("Compat/C/example.c", as: .c99) { program in
            let tokens = program.directory.appending(path: "tokens")
            try Data("00ff\nbad0\n".utf8).write(to: tokens)
            let shell = "./program '{\"backend\":\"echo\"}' < tokens"
            let result = try await program.shell(shell)
            #expect(result.output == "0 accepted \n1 rejected BadDeviceToken\n")
        }
    }
}

import FerryProxyTestSupport
import Testing

/// What the doctor says of a proxy on the way to a server of HTTP/2.
@Suite(.timeLimit(.minutes(10))) struct DoctorProxyTests {
    private static let authorization = "Basic ZmVycnk6b3BlbiBzZXNhbWU="

    @Test(
        arguments: [
            (.tunnel(authorization: Self.authorization), "proxyWantsPassword"),
            (.say("HTTP/1.1 403 Forbidden\r\n\r\n", closes: true), "proxyRefuses"),
            (.say("SSH-2.0-OpenSSH_9.2\r\n", closes: false), "noProxy"),
            (.say("HTTP/1.1", closes: true), "proxyCloses"),
            (.silence, "proxySilent"),
            (.dieInTheMiddle, "closedInHandshake"),
        ] as [(TestProxy.Behaviour, String)]
    )
    func `each failure of a proxy is a problem of its own`(behaviour: TestProxy.Behaviour, problem: String) async throws
    {
        try await DoctorHTTP2Tests.withAPNs { harness, port, token in
            try await TestProxy.run(behaviour) { proxy in
                var arguments = ["localhost:\(port)", "--http2", "--proxy", "127.0.0.1:\(proxy.port)"]
                if case .silence = behaviour { arguments += ["--timeout", "1"] }
                let report = try await harness.doctor(arguments + harness.ca + token)
                #expect(report.status == 3)
                #expect(report.problems.map(\.problem) == [problem])
            }
        }
    }

    @Test func `a user name that no proxy can take is status 2 and one sentence`() async throws {
        try await APNsHarness.run { harness in
            let output = try await FerryProgram.run(
                ["doctor", "localhost:1", "--http2", "--proxy", "localhost:1", "--proxy-user", "a:b"] + harness.token(),
                in: harness.directory
            )
            #expect(output.status == 2)
            #expect(output.messages.contains("must not hold a colon"))
        }
    }

    @Test func `a refused password is told from a missing one`() async throws {
        try await DoctorHTTP2Tests.withAPNs { harness, port, token in
            try await TestProxy.run(.tunnel(authorization: Self.authorization)) { proxy in
                let password = try harness.secret("password", "open wide\n".utf8)
                let way = [
                    "--proxy", "127.0.0.1:\(proxy.port)", "--proxy-user", "ferry", "--proxy-password-file", password,
                ]
                let report = try await harness.doctor(["localhost:\(port)", "--http2"] + way + harness.ca + token)
                #expect(report.problems.map(\.problem) == ["proxyRefusesPassword"])
            }
        }
    }

    @Test func `behind a proxy that opens the tunnel everything is examined`() async throws {
        try await DoctorHTTP2Tests.withAPNs { harness, port, token in
            try await TestProxy.run(.tunnel()) { proxy in
                let way = ["--proxy", "127.0.0.1:\(proxy.port)"]
                let report = try await harness.doctor(["localhost:\(port)", "--http2"] + way + harness.ca + token)
                #expect(report.status == 0)
                let sentences = report.findings.map(\.sentence)
                #expect(sentences.contains("The proxy 127.0.0.1:\(proxy.port) opens a tunnel to localhost:\(port)."))
                #expect(sentences.contains { $0.contains("It speaks HTTP/2") })
            }
        }
    }
}

import FerryProxyTestSupport
import Testing

/// The commands that ask Apple, through an HTTP proxy.
@Suite(.timeLimit(.minutes(10))) struct AppStoreProxyTests {
    @Test func `a test and a recovery go through a proxy, of an option or of the variables`() async throws {
        try await AppStoreHarness.run { harness in
            let (receiver, port) = try await harness.serve()
            let (appStore, api) = try await harness.simulate(port, count: 1)
            try await TestProxy.run(.tunnel()) { proxy in
                let way = ["--proxy", "127.0.0.1:\(proxy.port)"]
                let test = try await harness.ferry(["test"] + api + way)
                #expect(test.status == 0, "\(test.messages)")
                #expect(!proxy.requests.isEmpty)
                let before = proxy.requests.count
                let recovered = try await FerryProgram.run(
                    ["appstore", "recover", "--since", "2026-01-01"] + api + harness.store,
                    in: harness.directory,
                    shell: "export https_proxy=http://127.0.0.1:\(proxy.port); exec \"$@\""
                )
                #expect(recovered.status == 0, "\(recovered.messages)")
                #expect(recovered.messages.hasPrefix("ferry: connections to localhost go through the proxy 127.0.0.1:"))
                #expect(proxy.requests.count > before)
            }
            appStore.terminate()
            receiver.terminate()
            _ = try await receiver.output()
        }
    }

    @Test(
        arguments: [
            (.tunnel(authorization: "Basic ZmVycnk6b3BlbiBzZXNhbWU="), "wants a user name and a password (status 407)"),
            (.say("SSH-2.0\r\n", closes: false), "is no HTTP proxy"),
        ] as [(TestProxy.Behaviour, String)]
    )
    func `a proxy that lets nothing through is named, and asked once`(
        behaviour: TestProxy.Behaviour,
        words: String
    ) async throws {
        try await AppStoreHarness.run { harness in
            let (receiver, port) = try await harness.serve()
            let (appStore, api) = try await harness.simulate(port, count: 1)
            try await TestProxy.run(behaviour) { proxy in
                let output = try await harness.ferry(["test"] + api + ["--proxy", "127.0.0.1:\(proxy.port)"])
                #expect(output.status == 3)
                #expect(output.messages.contains(words), "\(output.messages)")
                #expect(proxy.requests.count == 1)
            }
            appStore.terminate()
            receiver.terminate()
            _ = try await receiver.output()
        }
    }
}

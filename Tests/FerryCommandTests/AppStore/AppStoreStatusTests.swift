import Foundation
import Testing

/// `ferry appstore status` against a receiver that runs.
@Suite(.timeLimit(.minutes(10))) struct AppStoreStatusTests {
    @Test func `status finds a receiver by its store or its port, and nobody is exit status 3`() async throws {
        try await AppStoreHarness.run { harness in
            let (receiver, _) = try await harness.serve(["--admin-port", "0"])
            let found = try await harness.ferry(["status"] + harness.store)
            #expect(found.status == 0, "\(found.messages)")
            #expect(found.result.contains("Ready: nothing has come yet."))
            let ports = try JSONDecoder().decode([String: Int].self, from: Data(receiver.result.utf8))
            let port = try #require(ports["admin"])
            let url = "http://127.0.0.1:\(port)"
            let json = try await harness.ferry(["status", "--url", url, "--json"])
            #expect(json.status == 0, "\(json.messages)")
            #expect(json.number("version") == 1)
            receiver.terminate()
            #expect(try await receiver.output().status == 0)
            #expect(try await harness.ferry(["status"] + harness.store).status == 3)
        }
    }

    @Test func `an option of the admin port without the port is refused with its name`() async throws {
        try await AppStoreHarness.run { harness in
            let refused = try await harness.ferry(
                ["serve", "--app", "com.example.app", "--listen", "0", "--plain", "--admin-host", "0.0.0.0"]
                    + harness.store
            )
            #expect(refused.status == 2)
            #expect(refused.messages.contains("--admin-host needs --admin-port"))
        }
    }
}

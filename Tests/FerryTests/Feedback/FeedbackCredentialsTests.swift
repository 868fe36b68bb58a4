import Ferry
import FerryTesting
import NIOCore
import NIOPosix
import Testing

/// Tests of connections on which no list can be read.
@Suite(.timeLimit(.minutes(10)))
struct FeedbackCredentialsTests {
    private func expectFailure(
        _ code: FeedbackError.Code,
        _ harness: FeedbackHarness,
        _ change: (inout FeedbackConfiguration) throws -> Void = { _ in }
    ) async throws {
        let found = try await harness.sweep(change).all()
        #expect(found.tuples.isEmpty)
        #expect(found.error?.code == code)
        #expect(found.error?.report == FeedbackReport())
        #expect(harness.service.tuples.count == 3)
    }

    @Test(arguments: [TLSVersion.tls12, .tls13])
    func `a refused client certificate is no empty list`(version: TLSVersion) async throws {
        var script = try FeedbackHarness.script(0..<3)
        script.handshake = .refuseClient
        try await FeedbackHarness.run(script, maximumTLSVersion: version) { harness in
            try await self.expectFailure(.credentialsRejected, harness) { $0.tlsVersions = .tls12...version }
            #expect(harness.service.counts.handshakes == 0)
        }
    }

    @Test func `a missing client certificate is refused`() async throws {
        try await FeedbackHarness.run(FeedbackHarness.script(0..<3)) { harness in
            try await self.expectFailure(.credentialsRejected, harness) { $0.identity = nil }
        }
    }

    @Test func `a service of an unknown authority is not trusted`() async throws {
        try await FeedbackHarness.run(FeedbackHarness.script(0..<3)) { harness in
            try await self.expectFailure(.peerNotTrusted, harness) {
                $0.trustRoots = try TestCredentials().trustRoots
            }
        }
    }

    @Test func `a service of another name is not trusted`() async throws {
        try await FeedbackHarness.run(FeedbackHarness.script(0..<3)) { harness in
            try await self.expectFailure(.peerNotTrusted, harness) { $0.serverName = "feedback.example.com" }
        }
    }

    @Test func `an untrusted service is taken when nothing is to be rejected`() async throws {
        try await FeedbackHarness.run(FeedbackHarness.script(0..<3)) { harness in
            let found = try await harness.sweep {
                $0.trustRoots = try TestCredentials().trustRoots
                $0.rejectUnauthorized = false
            }
            .all()
            #expect(found.tuples.count == 3)
            #expect(found.error == nil)
        }
    }

    @Test func `a port that nobody listens on refuses`() async throws {
        try await FeedbackHarness.run(FeedbackHarness.script(0..<3)) { harness in
            let listener = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
                .bind(host: "127.0.0.1", port: 0).get()
            let port = try #require(listener.localAddress?.port)
            try await listener.close()
            try await self.expectFailure(.connectFailed, harness) { $0.port = port }
        }
    }

    @Test func `a host name that does not exist fails`() async throws {
        try await FeedbackHarness.run(FeedbackHarness.script(0..<3)) { harness in
            try await self.expectFailure(.connectFailed, harness) { $0.host = "does-not-exist.invalid" }
        }
    }

    @Test func `a server without a handshake times out`() async throws {
        var script = try FeedbackHarness.script(0..<3)
        script.handshake = .silent
        try await FeedbackHarness.run(script) { harness in
            try await self.expectFailure(.connectTimeout, harness) { $0.connectTimeout = .milliseconds(100) }
        }
    }

    @Test func `Apple's service is where Apple says`() throws {
        let identity = try TestCredentials().client
        #expect(FeedbackConfiguration(production: true, identity: identity).host == "feedback.push.apple.com")
        let sandbox = FeedbackConfiguration(production: false, identity: identity)
        #expect(sandbox.host == "feedback.sandbox.push.apple.com")
        #expect(sandbox.port == 2196)
    }
}

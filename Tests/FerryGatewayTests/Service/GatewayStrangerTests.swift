import Ferry
import FerryOpenSSL
import FerryTesting
import Foundation
import NIOCore
import NIOPosix
import Testing

@testable import FerryGateway

/// What the gateway says of connections that it does not take.
@Suite(.timeLimit(.minutes(10))) struct GatewayStrangerTests {
    /// Ends when its channel does.
    private final class End: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer

        func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
    }

    /// Makes one handshake, and waits for its end.
    private func connect(
        _ harness: GatewayHarness,
        as identity: TLSIdentity?,
        profile: TLSProfile = .modern,
        saysDoctor: Bool = false,
        port: Int? = nil
    ) async throws {
        var client = TLSContext.Client(trustRoots: harness.credentials.trustRoots, identity: identity, profile: profile)
        client.saysDoctor = saysDoctor
        let tls = try TLSContext(client: client)
        let channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    let handler = try TLSHandler(client: tls, serverName: "localhost")
                    try channel.pipeline.syncOperations.addHandlers(handler, End())
                }
            }
            .connect(host: harness.gateway.host, port: port ?? harness.gateway.port).get()
        try await channel.closeFuture.get()
    }

    private func stranger(_ harness: GatewayHarness) async -> String {
        while true {
            for event in harness.events.all { if case .stranger(_, let reason) = event { return reason } }
            await Task.yield()
        }
    }

    /// Knows clients by their user ID under an authority, shows a certificate, and returns what is said of it.
    private func reason(
        _ profile: TLSProfile = .modern,
        _ identity: (ThrowAwayCA) throws -> TLSIdentity
    ) async throws -> String {
        let authority = try ThrowAwayCA()
        let shown = try identity(authority)
        var reason = ""
        try await GatewayHarness.run {
            $0.clients = GatewayClients([(.userID("com.example.ferry"), 0)], trustRoots: authority.trustRoots)
        } _: { harness in
            try await self.connect(harness, as: shown, profile: profile)
            reason = await self.stranger(harness)
        }
        return reason
    }

    private static let known = "The user ID of this certificate is known, but "
    private static let end = " For a user ID, authority and dates count."

    @Test func `a known user ID in an expired certificate is refused with its day`() async throws {
        let reason = try await self.reason { try $0.client(validity: .expired) }
        #expect(reason.hasPrefix("\(Self.known)it expired on 20"), "\(reason)")
        #expect(reason.hasSuffix(Self.end), "\(reason)")
    }

    @Test func `a known user ID in a certificate of the future is refused with its day`() async throws {
        let reason = try await self.reason { try $0.client(validity: .future) }
        #expect(reason.hasPrefix("\(Self.known)it is valid from 20"), "\(reason)")
    }

    @Test func `a known user ID of another authority is refused with that cause`() async throws {
        let reason = try await self.reason { _ in try ThrowAwayCA(name: "Another").client() }
        #expect(reason.hasPrefix("\(Self.known)another authority issued it: "), "\(reason)")
    }

    @Test func `a known user ID with a key of 1024 bits is refused with that cause`() async throws {
        let reason = try await self.reason(.legacy) { try $0.client(key: .rsa1024) }
        #expect(reason.hasPrefix("\(Self.known)its key is too weak (RSA 1024): "), "\(reason)")
    }

    @Test func `each cause has its words`() throws {
        let certificate = try ThrowAwayCA().client().summary
        let kinds: [(ChainFault.Kind, Int, ChainFinding.Weakness?, String)] = [
            (.weak, 0, .digest, "its signature, or one behind it, has a digest as weak as SHA-1"),
            (.weak, 1, .key, "the key of an authority behind it is too weak"),
            (.expired, 1, nil, "an authority behind it has expired"),
            (.notYetValid, 1, nil, "an authority behind it is not yet valid"),
            (.selfSigned, 0, nil, "it is signed with its own key, and not by an authority of the listener"),
            (.wrongPurpose, 0, nil, "it is not made for clients"),
            (.pathTooLong, 1, nil, "an authority behind it may not vouch for it"),
            (.other("words"), 0, nil, "it cannot be verified (words)"),
        ]
        for (kind, place, weakness, words) in kinds {
            let finding = ChainFinding(ChainFault(kind: kind, place: place), weakness: weakness)
            #expect(RefusalWords.of(certificate, finding).hasPrefix("\(Self.known)\(words): CN="))
        }
    }

    @Test func `another user ID is nobody's, whatever its certificate`() async throws {
        let reason = try await self.reason { try $0.client(topic: "com.example.other", validity: .expired) }
        #expect(reason.hasPrefix("No client of the configuration has this certificate: "), "\(reason)")
    }

    @Test func `a probe of ferry doctor is named as that, once, refused or not`() async throws {
        try await GatewayHarness.run { harness in
            let stranger = try ThrowAwayCA().client()
            for _ in 0..<2 { try await self.connect(harness, as: stranger, saysDoctor: true) }
            try await self.connect(harness, as: stranger)
            _ = await self.stranger(harness)
            #expect(harness.events.all.count == 2)
            #expect(harness.events.all.first == .check(address: "127.0.0.1", .doctor))
        }
    }

    @Test func `a stranger on the feedback port is named there, and nobody else with its certificate`() async throws {
        try await GatewayHarness.run {
            $0.feedbackPort = 0
        } _: { harness in
            let stranger = try ThrowAwayCA().client()
            try await self.connect(harness, as: stranger, port: harness.gateway.feedbackPort)
            // It has no certificate at all.
            try await self.connect(harness, as: nil)
            var reasons: [String] = []
            while reasons.count < 2 {
                reasons = harness.events.all.compactMap { event in
                    if case .stranger(_, let reason) = event { reason } else { nil }
                }
                await Task.yield()
            }
            #expect(reasons[0].contains(stranger.summary.fingerprintHex), "\(reasons)")
            #expect(!reasons[1].contains(stranger.summary.fingerprintHex), "\(reasons)")
        }
    }

    @Test func `a connection that ends without a byte is named as a monitor's check, once`() async throws {
        try await GatewayHarness.run { harness in
            for _ in 0..<3 {
                Self.connectAndClose(port: harness.gateway.port)
            }
            try await self.connect(harness, as: ThrowAwayCA().client())
            _ = await self.stranger(harness)
            #expect(harness.events.all.filter { $0 == .check(address: "127.0.0.1", .connection) }.count == 1)
        }
    }

    /// Without a pause between, in which the gateway could end the connection.
    private static func connectAndClose(port: Int) {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(port).bigEndian
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                _ = Foundation.connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        close(descriptor)
    }
}

import Ferry
import FerryOpenSSL
import FerryTesting
import Foundation
import NIOCore
import NIOPosix

/// Credentials in files, servers in this process, and `ferry doctor` examining both.
struct DoctorHarness: Sendable {
    struct Report: Decodable, Sendable {
        struct Finding: Decodable, Sendable {
            var check: String
            var severity: String
            var problem: String?
            var sentence: String
            var cure: String?
        }

        var host: String?
        var findings: [Finding]
        var faults: Int
        var warnings: Int
        var status: Int32

        /// The findings with a warning or a fault.
        var problems: [Finding] { self.findings.filter { $0.severity != "ok" } }

        func finding(_ problem: String) -> Finding? { self.findings.first { $0.problem == problem } }
    }

    let directory: TemporaryDirectory
    let authority: ThrowAwayCA

    static func run(_ body: (DoctorHarness) async throws -> Void) async throws {
        try await TemporaryDirectory.with { directory in
            let harness = DoctorHarness(directory: directory, authority: try ThrowAwayCA())
            _ = try directory.write("ca.pem", harness.authority.certificatePEM)
            try await body(harness)
        }
    }

    var ca: [String] { ["--ca", self.directory.path("ca.pem")] }

    /// Writes a file that only its owner may read.
    func secret(_ name: String, _ bytes: some Sequence<UInt8>) throws -> String {
        try self.directory.write(name, bytes)
    }

    /// Writes certificate and key, and returns the options that name them.
    func options(_ identity: TLSIdentity, key: TLSIdentity? = nil) throws -> [String] {
        let name = UUID().uuidString
        let certificate = try self.directory.write("\(name).pem", identity.certificateChainPEM)
        return ["--cert", certificate, "--key", try self.secret("\(name).key", (key ?? identity).privateKeyPEM())]
    }

    /// Runs `ferry doctor` and parses its output. Without --timeout in `arguments`, the limit only ends a run that
    /// hangs.
    func doctor(_ arguments: [String]) async throws -> Report {
        let limit = arguments.contains("--timeout") ? [] : ["--timeout", "300"]
        let output = try await FerryProgram.run(["doctor", "--json"] + limit + arguments, in: self.directory)
        let report = try JSONDecoder().decode(Report.self, from: Data(output.result.utf8))
        guard report.status == output.status, output.messages.isEmpty else { throw Inconsistent(output: output) }
        return report
    }

    struct Inconsistent: Error {
        var output: FerryProgram.Output
    }

    /// Calls `body` with the port of a simulated gateway.
    func withGateway(
        _ server: TLSIdentity? = nil,
        _ change: (inout SimulatedGateway.Configuration) -> Void = { _ in },
        _ body: (Int) async throws -> Void
    ) async throws {
        let credentials = TestCredentials(
            trustRoots: self.authority.trustRoots,
            server: try server ?? self.authority.server(dnsNames: ["localhost", "gateway.push.apple.com"]),
            client: try self.authority.client(),
            tokenKey: try ES256Key.generate()
        )
        var configuration = SimulatedGateway.Configuration(credentials: credentials)
        change(&configuration)
        let gateway = try await SimulatedGateway.start(configuration)
        do {
            try await body(gateway.port)
        } catch {
            await gateway.stop()
            throw error
        }
        await gateway.stop()
    }

    /// Calls `body` with the port of a server. `handlers` makes the handlers of its connections.
    func withServer(
        _ handlers: @escaping @Sendable () throws -> [any ChannelHandler],
        _ body: (Int) async throws -> Void
    ) async throws {
        let listener = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandlers(handlers())
                }
            }
            .bind(host: "127.0.0.1", port: 0)
            .get()
        do {
            try await body(listener.localAddress?.port ?? 0)
        } catch {
            try await listener.close().get()
            throw error
        }
        try await listener.close().get()
    }

    /// Returns a port without a listener.
    func closedPort() async throws -> Int {
        var port = 0
        try await self.withServer({ [] }) { port = $0 }
        return port
    }
}

/// Sends `bytes` at once, or when the client sends its first bytes.
final class SpeakingHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let bytes: [UInt8]
    private let speaksFirst: Bool

    init(_ bytes: [UInt8], speaksFirst: Bool = false) {
        self.bytes = bytes
        self.speaksFirst = speaksFirst
    }

    func channelActive(context: ChannelHandlerContext) {
        if self.speaksFirst { self.speak(context) }
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        if !self.speaksFirst { self.speak(context) }
    }

    private func speak(_ context: ChannelHandlerContext) {
        context.writeAndFlush(self.wrapOutboundOut(ByteBuffer(bytes: self.bytes)), promise: nil)
    }
}

/// Closes when the client sends its first bytes.
final class ClosingHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        context.close(promise: nil)
    }
}

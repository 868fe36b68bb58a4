import FerryOpenSSL
import NIOCore
import NIOEmbedded
import Testing

struct HandshakeProbeTests {
    /// A probe in a channel without a socket.
    private final class Probing {
        let channel = EmbeddedChannel()
        private(set) var report: HandshakeReport?

        init(_ client: TLSContext.Client) throws {
            let result = channel.eventLoop.makePromise(of: HandshakeReport.self)
            result.futureResult.assumeIsolated().whenSuccess { self.report = $0 }
            let probe = try HandshakeProbe(
                client: TLSContext(testingWithoutVerification: client),
                serverName: "localhost",
                limits: .init(handshake: .seconds(10), verdict: .seconds(1)),
                result: result
            )
            try channel.pipeline.syncOperations.addHandler(probe)
            try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
        }

        /// Carries bytes between probe and server. Those of the server arrive one by one.
        func talk(to server: consuming TLSEngine) throws {
            while true {
                while let ciphertext = try channel.readOutbound(as: ByteBuffer.self) { server.ingest(ciphertext) }
                while server.step() != nil {}
                guard let answer = server.takeCiphertext() else { return }
                for byte in answer.readableBytesView { try channel.writeInbound(ByteBuffer(bytes: [byte])) }
            }
        }

        func pass(_ seconds: Int64) {
            channel.embeddedEventLoop.advanceTime(by: .seconds(seconds))
        }
    }

    let ca: ThrowAwayCA

    init() throws {
        ca = try ThrowAwayCA()
    }

    private func server(_ certificates: TLSContext.ClientCertificates) throws -> TLSEngine {
        try TLSEngine(context: TLSContext(server: .init(identity: ca.server(), clientCertificates: certificates)))
    }

    private func isEstablished(_ report: HandshakeReport?) -> Bool {
        if case .established = report?.ending { true } else { false }
    }

    @Test(
        arguments: [TLSVersion.tls12, .tls13]
    )
    func `a probe of a server without requests is over at the end of the handshake`(version: TLSVersion) throws {
        let probing = try Probing(.init(versions: version...version))
        try probing.talk(to: server(.ignored))
        let report = try #require(probing.report)
        #expect(isEstablished(report))
        #expect(report.isCompleted && report.speaksTLS && report.beginsLikeTLS)
        #expect(!report.asksForCertificate)
        #expect(report.chain?.certificates.map(\.dnsNames) == [["localhost"]])
        #expect(report.cipherSuite != nil)
        #expect(report.firstBytes.count == HandshakeReport.keptBytes)
    }

    @Test(arguments: [TLSVersion.tls12, .tls13])
    func `a server that asks for a certificate gets a second to refuse it`(version: TLSVersion) throws {
        let policy = TLSContext.ClientCertificates.required(ca.trustRoots)
        let known = try Probing(.init(identity: ca.client(), versions: version...version))
        try known.talk(to: server(policy))
        #expect(known.report == nil)
        known.pass(1)
        #expect(isEstablished(known.report))
        #expect(known.report?.asksForCertificate == true)

        let unknown = try Probing(.init(versions: version...version))
        try unknown.talk(to: server(policy))
        let report = try #require(unknown.report)
        #expect(report.refusal?.code == .certificateRejected)
        #expect(report.isCompleted == (version == .tls13))
        #expect(report.asksForCertificate && report.speaksTLS)
    }

    @Test func `a silent server ends the probe at the deadline, and a closed connection ends it at once`() throws {
        let silent = try Probing(.init())
        silent.pass(9)
        #expect(silent.report == nil)
        silent.pass(1)
        guard case .timedOut = silent.report?.ending else {
            Issue.record("\(String(describing: silent.report))")
            return
        }
        let closed = try Probing(.init())
        try closed.channel.close().wait()
        guard case .closed = closed.report?.ending else {
            Issue.record("\(String(describing: closed.report))")
            return
        }
        #expect(closed.report?.speaksTLS == false)
    }

    @Test func `a server without TLS is recognized by its first bytes`() throws {
        let probing = try Probing(.init())
        try probing.channel.writeInbound(ByteBuffer(string: String(repeating: "HTTP/1.1 ", count: 20)))
        let report = try #require(probing.report)
        #expect(!report.beginsLikeTLS && !report.speaksTLS)
        #expect(report.firstBytes.count == HandshakeReport.keptBytes)
        let short = try Probing(.init())
        for byte in Array("no".utf8) { try short.channel.writeInbound(ByteBuffer(bytes: [byte])) }
        short.pass(10)
        #expect(short.report?.firstBytes == Array("no".utf8))
        #expect(short.report?.beginsLikeTLS == false)
    }
}

import FerryOpenSSL
import NIOCore
import Testing

@Suite("TLS engine")
struct EngineTests {
    let ca: ThrowAwayCA

    init() throws {
        ca = try ThrowAwayCA()
    }

    private func contexts(
        versions: ClosedRange<TLSVersion> = .tls12 ... .tls13
    ) throws -> (client: TLSContext, server: TLSContext) {
        let client = try TLSContext(client: .init(trustRoots: ca.trustRoots, versions: versions))
        let server = try TLSContext(
            server: .init(
                identity: ca.server(),
                profile: versions.lowerBound < .tls12 ? .legacy : .modern,
                maximum: versions.upperBound
            )
        )
        return (client, server)
    }

    @Test("Every version from TLS 1.0 to 1.3 carries data both ways", arguments: TLSVersion.allCases)
    func versions(version: TLSVersion) throws {
        let (client, server) = try contexts(versions: version...version)
        var pair = try EnginePair(client: client, server: server)
        pair.run()
        #expect(pair.clientLog.failures.map(\.code) == [])
        #expect(pair.client.version == version)
        try pair.client.encrypt(ByteBuffer(string: "to the server"))
        try pair.server.encrypt(ByteBuffer(string: "to the client"))
        pair.run()
        #expect(String(buffer: pair.serverLog.plaintext) == "to the server")
        #expect(String(buffer: pair.clientLog.plaintext) == "to the client")
        pair.client.closeNotify()
        pair.server.closeNotify()
        pair.run()
        #expect(pair.serverLog.peerClosed == 1)
        #expect(pair.clientLog.peerClosed == 1)
    }
}

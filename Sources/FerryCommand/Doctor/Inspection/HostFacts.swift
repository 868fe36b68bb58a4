internal import Ferry
internal import FerryOpenSSL
internal import NIOCore

/// What there is to see of a host, before any judgement.
struct HostFacts: Sendable {
    /// Whether HTTP/2 was offered, and is needed.
    enum HTTP2Demand: Sendable {
        case none
        /// The port suggests it.
        case offered
        /// It was asked for, or the host is Apple's.
        case needed
    }

    /// One attempt to connect to one address.
    struct Attempt: Equatable, Sendable {
        enum Result: Equatable, Sendable {
            case connected, refused, timedOut
            /// The system's words.
            case failed(String)
        }

        var address: SocketAddress
        var result: Result
    }

    /// One handshake that offered one version.
    struct Handshake: Sendable {
        var version: TLSVersion
        var report: HandshakeReport
    }

    /// The server's certificates, held against the name and the trust roots.
    struct Server: Sendable {
        var certificates: [CertificateSummary]
        var isForName: Bool
        var faults: [ChainFault]
    }

    var host: String
    var port: Int
    /// The name that the server's certificate must be for.
    var serverName: String
    /// How long each step was allowed to take.
    var limit: Duration
    var addresses: Result<[SocketAddress], Resolver.Fault>
    /// In the order in which they were made.
    var attempts: [Attempt] = []
    /// In the order in which they were made; not all, if the first showed that the peer does not speak TLS.
    var handshakes: [Handshake] = []
    /// How far the provider goes back for an old server.
    var profile = TLSProfile.modern
    /// TLS 1.2 with the legacy profile, where the modern one had nothing in common with the server.
    var legacyHandshake: HandshakeReport?
    /// Addresses that take connections and speak no TLS, where another does.
    var muteAddresses: [SocketAddress] = []
    /// Nil when no handshake brought certificates.
    var server: Server?
    /// Whether the server is to speak HTTP/2.
    var http2 = HTTP2Demand.none
    /// Nil when no handshake agreed on HTTP/2.
    var greeting: HTTP2Greeting?

    var endpoint: String { Endpoint.text(self.host, self.port) }
}

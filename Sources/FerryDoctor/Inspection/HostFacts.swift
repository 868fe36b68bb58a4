internal import Ferry
internal import FerryOpenSSL
internal import FerryProxy
internal import FerryTerminal
internal import NIOCore

/// The facts about a host, without judgement.
struct HostFacts: Sendable {
    /// Whether the client offers HTTP/2, and whether it needs it.
    enum HTTP2Demand: Sendable {
        case none
        /// The port suggests HTTP/2.
        case offered
        /// An option asked for HTTP/2, or the host is Apple's.
        case needed
    }

    /// One attempt to connect to one address.
    struct Attempt: Equatable, Sendable {
        enum Result: Equatable, Sendable {
            case connected, refused, timedOut
            /// The system's error message.
            case failed(String)
        }

        var address: SocketAddress
        var result: Result
    }

    /// The answer of a proxy to CONNECT.
    enum Tunnel: Sendable {
        case open
        case refused(ProxyError)
        /// The proxy took the connection, but did not answer CONNECT within the limit.
        case silent
    }

    /// A handshake that offered exactly one version.
    struct Handshake: Sendable {
        var version: TLSVersion
        var report: HandshakeReport
    }

    /// The server's certificates, checked against the name and the trust roots.
    struct Server: Sendable {
        var certificates: [CertificateSummary]
        var isForName: Bool
        var faults: [ChainFault]
    }

    var host: String
    var port: Int
    /// The name that the server's certificate must carry.
    var serverName: String
    /// The limit of each step.
    var limit: Duration
    var addresses: Result<[SocketAddress], Resolver.Fault>
    /// The proxy in front of the host. ``addresses`` and ``attempts`` are then those of the proxy.
    var proxy: HTTPProxy?
    /// The answer of the proxy; nil without a proxy, and if the proxy took no connection.
    var tunnel: Tunnel?
    /// Whether other machines are the host's clients, as for a receiver. They may try an address that this machine
    /// skips.
    var hasOtherClients = false
    /// The attempts, in order.
    var attempts: [Attempt] = []
    /// The handshakes, in order. The list is incomplete if a handshake timed out, or showed that the peer does not
    /// speak TLS.
    var handshakes: [Handshake] = []
    /// The oldest TLS that the provider accepts.
    var profile = TLSProfile.modern
    /// The TLS 1.2 handshake with the legacy profile; nil if it failed or was not needed. It is made if the modern
    /// profile and the server have nothing in common.
    var legacyHandshake: HandshakeReport?
    /// Addresses that accept connections but no TLS, if another address speaks TLS.
    var muteAddresses: [SocketAddress] = []
    /// The server's certificates; nil if no handshake brought any.
    var server: Server?
    /// Whether the server should speak HTTP/2.
    var http2 = HTTP2Demand.none
    /// The start of the server's HTTP/2; nil if no handshake agreed on HTTP/2.
    var greeting: HTTP2Greeting?

    var endpoint: String { Endpoint.text(self.host, self.port) }

    /// The host and its port, and the proxy in front of it.
    var endpointOnItsWay: String { self.endpoint + (self.proxy.map { " (through the proxy \($0))" } ?? "") }

    /// The machine that takes the TCP connections: the proxy, or the host.
    var next: Endpoint {
        self.proxy.map { Endpoint(host: $0.host, port: $0.port) } ?? Endpoint(host: self.host, port: self.port)
    }
}

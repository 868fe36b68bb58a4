public import FerryCore
public import FerryHTTP2
public import FerryOpenSSL
public import Logging
public import NIOCore
internal import NIOPosix

/// Where an ``HTTP2Provider`` connects, who it is there, and how it behaves.
public struct HTTP2Configuration: Sendable {
    /// Who the provider is.
    @nonexhaustive
    public enum Credentials: Sendable {
        /// A provider token with each request. Give the same source to every provider of its team and key.
        case token(ProviderTokenSource)
        /// The provider certificate, which is identity and topics, and its key.
        case certificate(TLSIdentity)
    }

    /// APNs ("Sending notification requests to APNs").
    public static let productionHost = "api.push.apple.com"
    /// As ``productionHost``, for development.
    public static let sandboxHost = "api.sandbox.push.apple.com"
    /// The port of APNs.
    public static let defaultPort = 443
    /// APNs' other port, for who lets connections to APNs through a firewall and other HTTPS not.
    public static let alternativePort = 2197

    /// A name or an address. Looked up anew for each connection.
    public var host: String
    /// 1 to 65,535.
    public var port: Int
    /// Who the provider is.
    public var credentials: Credentials
    /// The app's bundle ID: the topic of notifications that name none, with the suffix of their push type. Nil: such
    /// notifications are rejected with ``Reason/missingTopic``, unless a certificate says what they are for.
    public var topic: String?
    /// Who may vouch for the server.
    public var trustRoots: TrustRoots = .system
    /// The name that the server's certificate must be for, and that requests are addressed to. Nil: ``host``.
    public var serverName: String?
    /// Whether a server whose certificate is not in order is refused. With false anyone may answer as APNs, and gets the
    /// provider token: for tests only.
    public var rejectUnauthorized = true
    /// Which versions of TLS may be negotiated. APNs wants 1.2 or later.
    public var tlsVersions: ClosedRange<TLSVersion> = .tls12 ... .tls13
    /// How far TLS goes back for an old server or intermediary. ``TLSProfile/legacy`` does not change ``tlsVersions``:
    /// HTTP/2 wants 1.2 or later (RFC 9113, 9.2).
    public var tlsProfile = TLSProfile.modern
    /// The proxy that connections go through. Nil: none.
    public var proxy: HTTPProxy?
    /// How the provider behaves.
    public var options = HTTP2Options()
    /// Where outcomes go.
    public var outcomes: OutcomeDelivery = .discard
    /// Where the provider works: on one event loop of this group, which it does not own.
    public var eventLoopGroup: any EventLoopGroup = MultiThreadedEventLoopGroup.singleton
    /// Gets what happens, at `debug` and `trace`, without tokens or payloads.
    public var logger = Logger(label: "ferry.http2") { _ in SwiftLogNoOpLogHandler() }

    /// A server of any kind that speaks as APNs does.
    public init(host: String, port: Int = Self.defaultPort, credentials: Credentials, topic: String? = nil) {
        self.host = host
        self.port = port
        self.credentials = credentials
        self.topic = topic
    }

    /// APNs, for production or for development.
    public init(production: Bool, credentials: Credentials, topic: String? = nil) {
        self.init(
            host: production ? Self.productionHost : Self.sandboxHost,
            credentials: credentials,
            topic: topic
        )
    }
}

extension HTTP2Configuration {
    /// Who makes the tokens; nil with a certificate.
    var tokens: ProviderTokenSource? {
        if case .token(let source) = self.credentials { source } else { nil }
    }

    /// What is shown in the TLS handshake.
    var identity: TLSIdentity? {
        if case .certificate(let identity) = self.credentials { identity } else { nil }
    }

    /// The value of `:authority`: the port goes without saying when it is that of HTTPS.
    var authority: String {
        let name = self.serverName ?? self.host
        let host = name.contains(":") ? "[\(name)]" : name
        return self.port == Self.defaultPort ? host : "\(host):\(self.port)"
    }
}

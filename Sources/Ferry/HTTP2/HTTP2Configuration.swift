public import FerryCore
public import FerryHTTP2
package import FerryMachine
public import FerryOpenSSL
public import FerryProxy
public import Logging
public import NIOCore
internal import NIOPosix
public import Tracing

/// The settings of an ``HTTP2Provider``: the server, the credentials, the behaviour and the event loop.
public struct HTTP2Configuration: Sendable {
    /// The way in which the provider proves its identity.
    @nonexhaustive
    public enum Credentials: Sendable {
        /// A provider token with each request. All providers of a team and key must share one source.
        case token(ProviderTokenSource)
        /// The provider certificate and its key. The certificate carries the identity and the topics.
        case certificate(TLSIdentity)
    }

    /// The host of APNs ("Sending notification requests to APNs").
    public static let productionHost = "api.push.apple.com"
    /// The host of APNs for development.
    public static let sandboxHost = "api.sandbox.push.apple.com"
    /// The host of APNs for broadcasts in Apple's examples. Apple's text names ``productionHost``. Nobody has tried which of
    /// them takes broadcasts: set ``host``.
    public static let productionBroadcastHost = "api-broadcast.push.apple.com"
    /// The host for broadcasts of apps in development: see ``productionBroadcastHost``.
    public static let sandboxBroadcastHost = "api-broadcast.sandbox.push.apple.com"
    /// The port of APNs.
    public static let defaultPort = 443
    /// The other port of APNs, for a firewall that blocks HTTPS in general and opens only this port.
    public static let alternativePort = 2197

    /// The host of the server: a name or an address. A name is resolved again for each connection.
    public var host: String
    /// 1 to 65,535.
    public var port: Int
    /// The way in which the provider proves its identity.
    public var credentials: Credentials
    /// The app's bundle ID. It is the topic of notifications without one, with the suffix of their push type. Nil: such
    /// notifications are rejected with ``Reason/missingTopic``, unless a certificate names the topic.
    public var topic: String?
    /// The authorities that may sign the server's certificate.
    public var trustRoots: TrustRoots = .system
    /// The name that the server's certificate must carry, and that requests are addressed to. Nil: ``host``.
    public var serverName: String?
    /// Whether to refuse a server whose certificate is not valid. With false anyone can pose as APNs and receive the
    /// provider token: for tests only.
    public var rejectUnauthorized = true
    /// The versions of TLS that may be negotiated. APNs requires 1.2 or later.
    public var tlsVersions: ClosedRange<TLSVersion> = .tls12 ... .tls13
    /// How old the TLS of the server or of an intermediary may be. ``TLSProfile/legacy`` does not change
    /// ``tlsVersions``: HTTP/2 requires 1.2 or later (RFC 9113, 9.2).
    public var tlsProfile = TLSProfile.modern
    /// The proxy for all connections. Nil: no proxy.
    public var proxy: HTTPProxy?
    /// The behaviour of the provider.
    public var options = HTTP2Options()
    /// The receiver of the outcomes.
    public var outcomes: OutcomeDelivery
    /// The event loops. The provider runs on ``loopCount`` of them and does not shut the group down.
    public var eventLoopGroup: any EventLoopGroup {
        // A default value would start the singleton's threads although another group is set.
        get { self.givenGroup ?? MultiThreadedEventLoopGroup.singleton }
        set { self.givenGroup = newValue }
    }
    private var givenGroup: (any EventLoopGroup)?
    /// The number of event loops, and so of threads, on which the provider runs: 1 to 64. At most ``HTTP2Options/maxConnections``, and at
    /// most as many as the group has. Devices are spread over the loops by their token. To callers it stays one provider:
    /// ``HTTP2Options/queueLimit`` and the number of connections are those of all loops together.
    public var loopCount = 1
    /// The log, without device tokens or payloads. `error` is for trouble that needs a person, `warning` for failed
    /// connections and wrong outcomes, and `debug` for everything else, and for repetitions within a minute. The
    /// default goes where the program's `LoggingSystem` sends it: to standard error, from `info`.
    public var logger = Logger(label: "ferry.http2")
    /// Receives the numbers of each turn of the event loop: ``ProviderMetrics``, or your own. Nil: no observer.
    public var observer: (any ProviderObserver)?
    /// Makes a span for each ``PushProvider/send(_:to:)`` and broadcast, until its outcome, and for each ``PushProvider/submit(_:)``, until
    /// it returns. Nil: no spans.
    public var tracer: (any Tracer)?
    /// Nil in a Swift program.
    package var embedding: Embedding?
    /// Gets each device that APNs calls gone. Not used by a provider of two protocols, which has its own.
    package var goneDevices: GoneDeviceSink?
    /// The right to send. Without it, notifications stay in the queue.
    package var right = ForwardingRight.endless

    /// Makes a configuration for any server that behaves like APNs.
    ///
    /// - Parameters:
    ///   - host: the host of the server: a name or an address.
    ///   - port: the port of the server, 1 to 65,535.
    ///   - credentials: the way in which the provider proves its identity.
    ///   - topic: the app's bundle ID: the topic of notifications without one. See ``topic``.
    ///   - outcomes: the receiver of the outcomes. Use `.discard` if the program only awaits
    ///     ``PushProvider/send(_:to:)`` or reads the counts.
    public init(
        host: String,
        port: Int = Self.defaultPort,
        credentials: Credentials,
        topic: String? = nil,
        outcomes: OutcomeDelivery
    ) {
        self.host = host
        self.port = port
        self.credentials = credentials
        self.topic = topic
        self.outcomes = outcomes
    }

    /// Makes a configuration for APNs, for production or for development.
    public init(production: Bool, credentials: Credentials, topic: String? = nil, outcomes: OutcomeDelivery) {
        self.init(
            host: production ? Self.productionHost : Self.sandboxHost,
            credentials: credentials,
            topic: topic,
            outcomes: outcomes
        )
    }
}

extension HTTP2Configuration {
    /// The source of the provider tokens. Nil with a certificate.
    var tokens: ProviderTokenSource? {
        if case .token(let source) = self.credentials { source } else { nil }
    }

    /// The certificate for the TLS handshake. Nil with provider tokens.
    var identity: TLSIdentity? {
        if case .certificate(let identity) = self.credentials { identity } else { nil }
    }

    /// The value of `:authority`. The port is omitted if it is 443, the port of HTTPS.
    var authority: String {
        let name = self.serverName ?? self.host
        let host = name.contains(":") ? "[\(name)]" : name
        return self.port == Self.defaultPort ? host : "\(host):\(self.port)"
    }
}

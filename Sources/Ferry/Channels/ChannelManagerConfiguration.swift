internal import FerryCore
public import FerryOpenSSL
public import FerryProxy
public import Logging
public import NIOCore
internal import NIOPosix

/// The settings of a ``ChannelManager``: the server, the app, the credentials, the limits and the event loop.
public struct ChannelManagerConfiguration: Sendable {
    /// The host for channels ("Sending channel management requests to APNs").
    public static let productionHost = "api-manage-broadcast.push.apple.com"
    /// The host for channels of development.
    public static let sandboxHost = "api-manage-broadcast.sandbox.push.apple.com"
    /// The port of ``productionHost``.
    public static let productionPort = 2196
    /// The port of ``sandboxHost``. It differs from that of ``productionHost``.
    public static let sandboxPort = 2195

    /// The host of the server: a name or an address. A name is resolved again for each connection.
    public var host: String
    /// 1 to 65,535.
    public var port: Int
    /// The app's bundle ID, without the suffix of a topic.
    public var bundleID: String
    /// The way in which the manager proves its identity. All managers and providers of a team and key must share one
    /// source of tokens.
    public var credentials: HTTP2Configuration.Credentials
    /// The authorities that may sign the server's certificate.
    public var trustRoots: TrustRoots = .system
    /// The name that the server's certificate must carry, and that requests are addressed to. Nil: ``host``.
    public var serverName: String?
    /// Whether to refuse a server whose certificate is not valid. With false anyone can pose as APNs and receive the
    /// provider token: for tests only.
    public var rejectUnauthorized = true
    /// The versions of TLS that may be negotiated. APNs requires 1.2 or later.
    public var tlsVersions: ClosedRange<TLSVersion> = .tls12 ... .tls13
    /// How old the TLS of the server or of an intermediary may be.
    public var tlsProfile = TLSProfile.modern
    /// The proxy for all connections. Nil: no proxy.
    public var proxy: HTTPProxy?
    /// The limit for connecting: name look-up, TCP, the proxy's answer and TLS handshake together.
    public var connectTimeout: Duration = .seconds(10)
    /// How long a call may take, with the wait for a connection and for earlier calls.
    public var deadline: Duration = .seconds(30)
    /// The longest list in bytes; at least 8,192. An app has at most 10,000 channels in each environment, and their identifiers have no
    /// promised length.
    public var listLimit = 4 << 20
    /// How many calls may wait or be under way at once; at least 1. Another one fails at once with
    /// ``ChannelManagerError/Code/tooManyCalls``.
    public var callLimit = 64
    /// The event loops. The manager runs on one of them and does not shut the group down.
    public var eventLoopGroup: any EventLoopGroup {
        // A default value would start the singleton's threads although another group is set.
        get { self.givenGroup ?? MultiThreadedEventLoopGroup.singleton }
        set { self.givenGroup = newValue }
    }
    private var givenGroup: (any EventLoopGroup)?
    /// Receives what happens, all at `debug`: every failure is also thrown. The default goes where the program's
    /// `LoggingSystem` sends it.
    public var logger = Logger(label: "ferry.channels")

    /// Makes a configuration for any server that behaves like APNs.
    ///
    /// - Parameters:
    ///   - host: the host of the server: a name or an address.
    ///   - port: the port of the server, 1 to 65,535. Nil: that of Apple's host, and ``productionPort`` for other hosts.
    ///   - bundleID: the app's bundle ID.
    ///   - credentials: the way in which the manager proves its identity.
    public init(
        host: String,
        port: Int? = nil,
        bundleID: String,
        credentials: HTTP2Configuration.Credentials
    ) {
        self.host = host
        self.port = port ?? AppleHost(host)?.port ?? Self.productionPort
        self.bundleID = bundleID
        self.credentials = credentials
    }

    /// Makes a configuration for APNs, for production or for development. Each environment has channels of its own.
    public init(production: Bool, bundleID: String, credentials: HTTP2Configuration.Credentials) {
        self.init(
            host: production ? Self.productionHost : Self.sandboxHost,
            port: production ? Self.productionPort : Self.sandboxPort,
            bundleID: bundleID,
            credentials: credentials
        )
    }
}

extension ChannelManagerConfiguration {
    /// The settings of the connections, which are those of notifications over HTTP/2.
    var connections: HTTP2Configuration {
        var configuration = HTTP2Configuration(
            host: self.host,
            port: self.port,
            credentials: self.credentials,
            outcomes: .discard
        )
        configuration.trustRoots = self.trustRoots
        configuration.serverName = self.serverName
        configuration.rejectUnauthorized = self.rejectUnauthorized
        configuration.tlsVersions = self.tlsVersions
        configuration.tlsProfile = self.tlsProfile
        configuration.proxy = self.proxy
        configuration.options.connectTimeout = self.connectTimeout
        return configuration
    }
}

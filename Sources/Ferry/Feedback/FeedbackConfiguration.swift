public import FerryOpenSSL
public import Logging
public import NIOCore
internal import NIOPosix

/// Where a ``FeedbackReader`` connects, who it is there, and how long things may take.
public struct FeedbackConfiguration: Sendable {
    /// Apple's feedback service ("Binary Provider API"). Switched off on 2021-03-31.
    public static let productionHost = "feedback.push.apple.com"
    /// As ``productionHost``, for development.
    public static let sandboxHost = "feedback.sandbox.push.apple.com"
    /// The port of a feedback service.
    public static let defaultPort = 2196

    /// A name or an address. Looked up anew for each connection.
    public var host: String
    /// 1 to 65,535.
    public var port: Int
    /// The provider certificate, whose app's list is read, and its key. Nil: none is shown.
    public var identity: TLSIdentity?
    /// Who may vouch for the service.
    public var trustRoots: TrustRoots = .system
    /// The name that the service's certificate must be for. Nil: ``host``.
    public var serverName: String?
    /// Whether a service whose certificate is not in order is refused. With false anyone may answer as the service: for
    /// tests only.
    public var rejectUnauthorized = true
    /// Which versions of TLS may be negotiated. ``TLSProfile/legacy`` adds all below.
    public var tlsVersions: ClosedRange<TLSVersion> = .tls12 ... .tls12
    /// How far TLS goes back for an old service.
    public var tlsProfile = TLSProfile.modern
    /// How long connecting may take, with name look-up and TLS handshake.
    public var connectTimeout: Duration = .seconds(10)
    /// How long the service may say nothing before the list counts as not closed.
    public var idleTimeout: Duration = .seconds(30)
    /// How long the service may take for the whole list. Time in which tuples wait to be taken does not count.
    public var sweepTimeout: Duration = .seconds(600)
    /// How long ``FeedbackReader/events()`` waits from the end of one reading to the next. Zero or less: there is one.
    public var interval: Duration = .seconds(3600)
    /// How many tuples may wait to be taken before nothing more is read; at least 1.
    ///
    /// What was read or has arrived by then is kept beyond it: at most 32 KiB of tuples, and when the service ends the
    /// stream what the system has received, at most 512 KiB.
    public var bufferLimit = 1000
    /// Where a reading works: on one event loop of this group, which it does not own.
    public var eventLoopGroup: any EventLoopGroup = MultiThreadedEventLoopGroup.singleton
    /// Gets what happens, at `debug`, without tokens.
    public var logger = Logger(label: "ferry.feedback") { _ in SwiftLogNoOpLogHandler() }
    /// Where addresses come from; a test has its own.
    package var addressSource: HostAddresses.Source = Resolver.addresses

    /// A feedback service of any kind.
    public init(host: String, port: Int = Self.defaultPort, identity: TLSIdentity? = nil) {
        self.host = host
        self.port = port
        self.identity = identity
    }

    /// Apple's own service, for production or for development.
    public init(production: Bool, identity: TLSIdentity) {
        self.init(host: production ? Self.productionHost : Self.sandboxHost, identity: identity)
    }
}

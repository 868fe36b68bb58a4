public import FerryOpenSSL
public import Logging
public import NIOCore
internal import NIOPosix

/// The settings of a ``FeedbackReader``: the service, the credentials, the time limits and the event loop.
public struct FeedbackConfiguration: Sendable {
    /// The host of Apple's feedback service ("Binary Provider API"). Apple switched it off on 2021-03-31.
    public static let productionHost = "feedback.push.apple.com"
    /// The host of Apple's feedback service for development. Switched off like ``productionHost``.
    public static let sandboxHost = "feedback.sandbox.push.apple.com"
    /// The port of a feedback service.
    public static let defaultPort = 2196

    /// The host of the service: a name or an address. A name is resolved again for each connection.
    public var host: String
    /// 1 to 65,535.
    public var port: Int
    /// The provider certificate and its key. The certificate selects the app whose list is read. Nil if no certificate
    /// is shown.
    public var identity: TLSIdentity?
    /// The authorities that may sign the service's certificate.
    public var trustRoots: TrustRoots = .system
    /// The name that the service's certificate must carry. Nil: ``host``.
    public var serverName: String?
    /// Whether to refuse a service whose certificate is not valid. With false anyone can pose as the service: for tests
    /// only.
    public var rejectUnauthorized = true
    /// The versions of TLS that may be negotiated. ``TLSProfile/legacy`` adds all older versions.
    public var tlsVersions: ClosedRange<TLSVersion> = .tls12 ... .tls12
    /// How old the TLS of the service may be.
    public var tlsProfile = TLSProfile.modern
    /// The limit for connecting: name look-up, TCP and TLS handshake together.
    public var connectTimeout: Duration = .seconds(10)
    /// How long the service may be silent. After that the reading ends with ``FeedbackError/Code/notClosed``.
    public var idleTimeout: Duration = .seconds(30)
    /// The limit for the whole list. Time in which tuples wait to be taken does not count.
    public var sweepTimeout: Duration = .seconds(600)
    /// The pause of ``FeedbackReader/events()`` from the end of one reading to the start of the next. Nil, or not
    /// above zero: only one reading.
    public var interval: Duration? = .seconds(3600)
    /// The number of tuples that may wait for their reader before the reading stops; at least 1.
    ///
    /// The buffer may exceed this limit by the bytes that have arrived already: at most 32 KiB of tuples. When the
    /// service ends the stream, it may also exceed it by the bytes in the system's receive buffer: at most 512 KiB.
    public var bufferLimit = 1000
    /// The event loops. A reading runs on one of them. The reader does not shut the group down.
    public var eventLoopGroup: any EventLoopGroup {
        // A default value would start the singleton's threads although another group is set.
        get { self.givenGroup ?? MultiThreadedEventLoopGroup.singleton }
        set { self.givenGroup = newValue }
    }
    private var givenGroup: (any EventLoopGroup)?
    /// The log, without device tokens: a failed reading at `warning`, everything else at `debug`. The default goes
    /// where the program's `LoggingSystem` sends it: to standard error, from `info`.
    public var logger = Logger(label: "ferry.feedback")
    /// Resolves host names. Tests replace it.
    package var addressSource: HostAddresses.Source = Resolver.addresses
    /// Nil in a Swift program.
    package var embedding: Embedding?

    /// Makes a configuration for any feedback service.
    public init(host: String, port: Int = Self.defaultPort, identity: TLSIdentity? = nil) {
        self.host = host
        self.port = port
        self.identity = identity
    }

    /// Makes a configuration for Apple's service, for production or for development.
    /// Apple switched it off in 2021, so nothing can be made with this configuration unless ``host`` is changed.
    public init(production: Bool, identity: TLSIdentity) {
        self.init(host: production ? Self.productionHost : Self.sandboxHost, identity: identity)
    }
}

public import FerryBinary
public import FerryCore
public import FerryOpenSSL
public import Logging
public import NIOCore
internal import NIOPosix
public import Tracing

/// The settings of a ``BinaryProvider``: the gateway, the credentials, the behaviour and the event loop.
public struct BinaryConfiguration: Sendable {
    /// The host of Apple's gateway ("Binary Provider API"). Apple switched it off on 2021-03-31.
    public static let productionHost = "gateway.push.apple.com"
    /// The host of Apple's gateway for development. Switched off like ``productionHost``.
    public static let sandboxHost = "gateway.sandbox.push.apple.com"
    /// The port of a gateway.
    public static let defaultPort = 2195

    /// The host of the gateway: a name or an address. A name is resolved again for each connection.
    public var host: String
    /// 1 to 65,535.
    public var port: Int
    /// The provider certificate and its key. The certificate carries the identity and the topic. Nil if no certificate
    /// is shown.
    public var identity: TLSIdentity?
    /// The authorities that may sign the gateway's certificate.
    public var trustRoots: TrustRoots = .system
    /// The name that the gateway's certificate must carry. Nil: ``host``.
    public var serverName: String?
    /// Whether to refuse a gateway whose certificate is not valid. With false anyone can pose as the gateway: for tests
    /// only.
    public var rejectUnauthorized = true
    /// The versions of TLS that may be negotiated. The default is 1.2 alone: under 1.3 a refused certificate shows only
    /// after the first notifications were written. ``TLSProfile/legacy`` adds all older versions.
    public var tlsVersions: ClosedRange<TLSVersion> = .tls12 ... .tls12
    /// How old the TLS of the gateway may be.
    public var tlsProfile = TLSProfile.modern
    /// The behaviour of the provider.
    public var options = BinaryOptions()
    /// The receiver of the outcomes.
    public var outcomes: OutcomeDelivery
    /// The event loops. The provider runs on ``loopCount`` of them and does not shut the group down.
    public var eventLoopGroup: any EventLoopGroup {
        // A default value would start the singleton's threads although another group is set.
        get { self.givenGroup ?? MultiThreadedEventLoopGroup.singleton }
        set { self.givenGroup = newValue }
    }
    private var givenGroup: (any EventLoopGroup)?
    /// The number of event loops, and so of threads, on which the provider runs: 1 to 64. At most ``BinaryOptions/maxConnections``, and at
    /// most as many as the group has. Devices are spread over the loops by their token. To callers it stays one provider:
    /// ``BinaryOptions/queueLimit`` and the number of connections are those of all loops together.
    public var loopCount = 1
    /// The log, without device tokens or payloads. `error` is for trouble that needs a person, `warning` for failed
    /// connections and wrong outcomes, and `debug` for everything else, and for repetitions within a minute. The
    /// default goes where the program's `LoggingSystem` sends it: to standard error, from `info`.
    public var logger = Logger(label: "ferry.binary")
    /// Receives the numbers of each turn of the event loop: ``ProviderMetrics``, or your own. Nil: no observer.
    public var observer: (any ProviderObserver)?
    /// Makes a span for each ``PushProvider/send(_:to:)``, until its outcome, and for each ``PushProvider/submit(_:)``, until
    /// it returns. Nil: no spans.
    public var tracer: (any Tracer)?
    /// Nil in a Swift program.
    package var embedding: Embedding?
    /// Resolves host names. Tests replace it.
    package var addressSource: HostAddresses.Source = Resolver.addresses

    /// Makes a configuration for any gateway.
    ///
    /// - Parameters:
    ///   - host: the host of the gateway: a name or an address.
    ///   - port: the port of the gateway, 1 to 65,535.
    ///   - identity: the provider certificate and its key; nil if no certificate is shown.
    ///   - outcomes: the receiver of the outcomes. Use `.discard` if the program only awaits
    ///     ``PushProvider/send(_:to:)`` or reads the counts.
    public init(
        host: String,
        port: Int = Self.defaultPort,
        identity: TLSIdentity? = nil,
        outcomes: OutcomeDelivery
    ) {
        self.host = host
        self.port = port
        self.identity = identity
        self.outcomes = outcomes
    }

    /// Makes a configuration for Apple's gateway, for production or for development.
    /// Apple switched it off in 2021, so nothing can be made with this configuration unless ``host`` is changed.
    public init(production: Bool, identity: TLSIdentity, outcomes: OutcomeDelivery) {
        self.init(
            host: production ? Self.productionHost : Self.sandboxHost,
            identity: identity,
            outcomes: outcomes
        )
    }
}

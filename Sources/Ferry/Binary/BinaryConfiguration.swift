public import FerryBinary
public import FerryCore
public import FerryOpenSSL
public import Logging
public import NIOCore
internal import NIOPosix

/// Where a ``BinaryProvider`` connects, who it is there, and how it behaves.
public struct BinaryConfiguration: Sendable {
    /// Apple's gateways of the binary protocol ("Binary Provider API"). Switched off on 2021-03-31.
    public static let productionHost = "gateway.push.apple.com"
    /// As ``productionHost``, for development.
    public static let sandboxHost = "gateway.sandbox.push.apple.com"
    /// The port of a gateway of the binary protocol.
    public static let defaultPort = 2195

    /// A name or an address. Looked up anew for each connection.
    public var host: String
    /// 1 to 65,535.
    public var port: Int
    /// The provider certificate, which is identity and topic, and its key. Nil: none is shown.
    public var identity: TLSIdentity?
    /// Who may vouch for the gateway.
    public var trustRoots: TrustRoots = .system
    /// The name that the gateway's certificate must be for. Nil: ``host``.
    public var serverName: String?
    /// Whether a gateway whose certificate is not in order is refused. With false anyone may answer as the gateway: for
    /// tests only.
    public var rejectUnauthorized = true
    /// Which versions of TLS may be negotiated. 1.2 alone by default: under 1.3 a refused certificate shows only after
    /// the first notifications were written. ``TLSProfile/legacy`` adds all below.
    public var tlsVersions: ClosedRange<TLSVersion> = .tls12 ... .tls12
    /// How far TLS goes back for an old gateway.
    public var tlsProfile = TLSProfile.modern
    /// How the provider behaves.
    public var options = BinaryOptions()
    /// Where outcomes go.
    public var outcomes: OutcomeDelivery = .discard
    /// Where the provider works: on one event loop of this group, which it does not own.
    public var eventLoopGroup: any EventLoopGroup = MultiThreadedEventLoopGroup.singleton
    /// Gets what happens, at `debug` and `trace`, without tokens or payloads.
    public var logger = Logger(label: "ferry.binary") { _ in SwiftLogNoOpLogHandler() }
    /// Where addresses come from; a test has its own.
    package var addressSource: HostAddresses.Source = Resolver.addresses

    /// A gateway of any kind.
    public init(host: String, port: Int = Self.defaultPort, identity: TLSIdentity? = nil) {
        self.host = host
        self.port = port
        self.identity = identity
    }

    /// Apple's own gateway, for production or for development.
    public init(production: Bool, identity: TLSIdentity) {
        self.init(host: production ? Self.productionHost : Self.sandboxHost, identity: identity)
    }
}

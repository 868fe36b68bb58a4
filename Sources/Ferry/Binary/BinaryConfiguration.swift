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
    public static let sandboxHost = "gateway.sandbox.push.apple.com"
    public static let defaultPort = 2195

    /// A name or an address. Looked up anew for each connection.
    public var host: String
    public var port: Int
    /// The provider certificate, which is identity and topic, and its key. Nil: none is shown.
    public var identity: TLSIdentity?
    /// Who may vouch for the gateway.
    public var trustRoots: TrustRoots = .system
    /// The name that the gateway's certificate must be for. Nil: ``host``.
    public var serverName: String?
    /// Whether a gateway whose certificate is not in order is refused. False is for tests.
    public var rejectUnauthorized = true
    /// 1.2: under 1.3 a refused certificate shows only after the first notifications were written.
    public var tlsVersions: ClosedRange<TLSVersion> = .tls12 ... .tls12
    public var options = BinaryOptions()
    /// Where outcomes go.
    public var outcomes: OutcomeDelivery = .discard
    /// Where the provider works: on one event loop of this group, which it does not own.
    public var eventLoopGroup: any EventLoopGroup = MultiThreadedEventLoopGroup.singleton
    /// Gets what happens, at `debug` and `trace`, without tokens or payloads.
    public var logger = Logger(label: "ferry.binary") { _ in SwiftLogNoOpLogHandler() }

    public init(host: String, port: Int = Self.defaultPort, identity: TLSIdentity? = nil) {
        self.host = host
        self.port = port
        self.identity = identity
    }

    /// Apple's own gateway.
    public init(production: Bool, identity: TLSIdentity) {
        self.init(host: production ? Self.productionHost : Self.sandboxHost, identity: identity)
    }
}

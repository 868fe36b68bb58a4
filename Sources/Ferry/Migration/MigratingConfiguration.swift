public import FerryCore
public import Logging
public import NIOCore
internal import NIOPosix
public import Tracing

/// The settings of a ``MigratingProvider``: those of its two protocols, and which notifications go over which.
public struct MigratingConfiguration: Sendable {
    /// The binary protocol. Its `outcomes`, `eventLoopGroup`, `loopCount`, `logger`, `observer` and `tracer` are not used, and
    /// ``BinaryOptions/queueLimit`` is that of ``options``.
    public var binary: BinaryConfiguration
    /// HTTP/2. The same applies.
    public var http2: HTTP2Configuration
    /// The protocol of each notification, and the reaction if one protocol cannot deliver.
    public var options: MigrationOptions
    /// The receiver of the outcomes.
    public var outcomes: OutcomeDelivery
    /// The event loops. The provider runs on ``loopCount`` of them and does not shut the group down.
    public var eventLoopGroup: any EventLoopGroup {
        // A default value would start the singleton's threads although another group is set.
        get { self.givenGroup ?? MultiThreadedEventLoopGroup.singleton }
        set { self.givenGroup = newValue }
    }
    private var givenGroup: (any EventLoopGroup)?
    /// The number of event loops, and so of threads, on which the provider runs: 1 to 64. At most the smaller `maxConnections` of the two protocols, and at
    /// most as many as the group has. Devices are spread over the loops by their token. To callers it stays one provider:
    /// ``MigrationOptions/queueLimit`` and the number of connections are those of all loops together.
    public var loopCount = 1
    /// The log, without device tokens or payloads; see ``BinaryConfiguration/logger``. Lines about one protocol have
    /// `apns.side`. A side that goes down, and one that a move waits for, are logged at `warning`.
    public var logger = Logger(label: "ferry.migration")
    /// Receives the numbers of each turn of the event loop, of both protocols together. Nil: no observer.
    public var observer: (any ProviderObserver)?
    /// Makes a span for each ``PushProvider/send(_:to:)``, until its outcome, and for each ``PushProvider/submit(_:)``, until
    /// it returns. Nil: no spans.
    public var tracer: (any Tracer)?
    /// Gets each device that APNs over HTTP/2 calls gone.
    package var goneDevices: GoneDeviceSink?

    /// - Parameters:
    ///   - binary: the binary protocol.
    ///   - http2: HTTP/2.
    ///   - options: which notifications go over which. The default sends all of them over the binary protocol.
    ///   - outcomes: the receiver of the outcomes.
    public init(
        binary: BinaryConfiguration,
        http2: HTTP2Configuration,
        options: MigrationOptions = MigrationOptions(),
        outcomes: OutcomeDelivery
    ) {
        self.binary = binary
        self.http2 = http2
        self.options = options
        self.outcomes = outcomes
    }
}

extension MigratingConfiguration: ProviderConfiguration {
    /// Makes a provider: see ``MigratingProvider/init(_:)``.
    public func makeProvider() throws -> MigratingProvider { try MigratingProvider(self) }
}

internal import FerryBinary
public import FerryCore
internal import FerryHTTP2
internal import FerryMachine
internal import NIOCore
internal import Synchronization

/// A provider that moves from the binary protocol to HTTP/2, device by device, and back if need be.
///
/// It is one provider with one queue: callers see neither which protocol a notification takes nor when its devices move. A
/// ``MigrationRule`` decides, and may change at any time. While devices move, their new notifications wait until the earlier ones
/// have their outcome on the side that they leave, so that the notifications of a device keep their order.
///
/// ``report`` compares the two sides. It runs on one event loop of the configured group. All methods may be called from any
/// thread.
///
/// The numbers of connections tell their protocol: see ``side(of:)``.
public final class MigratingProvider: LoopProvider {
    typealias Client = MigratingClient<BinaryClient, HTTP2Client>

    /// What callers on other threads read.
    private final class Desk: Sendable {
        let report: Mutex<MigrationReport>
        let rule: Mutex<MigrationRule>

        init(_ rule: MigrationRule) {
            self.report = Mutex(MigrationReport(share: rule.share))
            self.rule = Mutex(rule)
        }
    }

    /// The part of the provider that does not depend on its protocol.
    public let body: ProviderBody
    private let driver: ProviderDriver<Client>
    private let desk: Desk

    /// Makes a provider. Each side connects when there is work for it.
    ///
    /// - Throws: what ``BinaryProvider/init(_:)`` and ``HTTP2Provider/init(_:)`` throw.
    public init(_ configuration: MigratingConfiguration) throws {
        var binary = configuration.binary
        var http2 = configuration.http2
        if let deadline = configuration.options.deadline {
            binary.options.deadline = deadline
            http2.options.deadline = deadline
        }
        binary.logger = configuration.logger
        let client = Client(
            configuration.options,
            binary: try binary.makeClient(),
            http2: try http2.makeClient()
        )
        let binaryConnector = try ProviderConnector(binary)
        let http2Connector = try ProviderConnector(http2)
        let desk = Desk(configuration.options.rule)
        let driver = ProviderDriver(
            client,
            connector: { id in
                switch Client.side(of: id) {
                case .binary: binaryConnector
                case .http2: http2Connector
                }
            },
            options: .init(
                eventLoopGroup: configuration.eventLoopGroup,
                outcomes: configuration.outcomes,
                queueLimit: configuration.options.queueLimit,
                logger: configuration.logger,
                tokens: http2.tokens,
                observer: configuration.observer,
                turnEnded: { client in
                    let report = client.currentReport
                    desk.report.withLock { $0 = report }
                },
                looksBeforeSleeping: http2.options.looksBeforeSleeping
            )
        )
        self.desk = desk
        self.driver = driver
        self.body = ProviderBody(
            driver,
            // The server that takes the notifications at the end of the migration.
            spans: configuration.tracer.map {
                ProviderSpans($0, host: http2.host, port: http2.port, topic: http2.topic)
            }
        )
        binary.logCacheThatDoesNotGrow()
    }

    /// Which notifications go over which protocol.
    ///
    /// A change takes effect at the event loop's next turn, for notifications that are not written. ``MigrationEvent/moved``
    /// tells when all devices are on their side. After a shutdown it has no effect.
    public var rule: MigrationRule {
        get { self.desk.rule.withLock { $0 } }
        set {
            self.desk.rule.withLock { $0 = newValue }
            guard !self.driver.calls.haveEnded else { return }
            let (driver, desk) = (self.driver, self.desk)
            driver.eventLoop.execute {
                // Of two changes at the same time, the one that stands is the one that callers read.
                driver.machine.change(desk.rule.withLock { $0 }, now: .now)
                driver.run()
            }
        }
    }

    /// The two protocols side by side, as of the event loop's last turn.
    ///
    /// Cost: a lock and a copy. Any thread.
    public var report: MigrationReport { self.desk.report.withLock { $0 } }

    /// Returns a subscription to the events of one protocol: see ``PushProvider/events(bufferingNewest:)``, which has those of
    /// both, and of the migration.
    public func events(of side: ProviderSide, bufferingNewest limit: Int) -> ProviderEvents {
        self.driver.events.subscribe(bufferingNewest: limit, of: side)
    }

    /// Returns the protocol of a connection.
    public static func side(of connection: ConnectionID) -> ProviderSide { Client.side(of: connection) }
}

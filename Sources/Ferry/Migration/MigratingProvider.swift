public import FerryBinary
public import FerryCore
internal import FerryHTTP2
internal import FerryMachine
internal import NIOCore

/// A provider that moves from the binary protocol to HTTP/2, device by device, and back if need be.
///
/// It is one provider with one queue. Callers see neither the protocol of a notification nor the moves of its devices.
/// A ``MigrationRule`` decides, and may change at any time. While devices move, their new notifications wait until the
/// earlier ones have their outcome on the side that they leave, so that the notifications of a device keep their order.
///
/// ``report`` compares the two sides. It runs on ``MigratingConfiguration/loopCount`` event loops of the configured group.
/// All methods may be called from any thread.
///
/// The number of a connection shows its protocol; see ``side(of:)``.
public final class MigratingProvider: LoopProvider {
    typealias Client = MigratingClient<BinaryClient, HTTP2Client>

    /// The state that callers on other threads read and change.
    private final class Desk: Sendable {
        struct Ruling {
            var rule: MigrationRule
            var number = 0
            /// The entries of the feedback list: all, and those since the rule changed.
            var feedback = (life: 0, sinceChange: 0)
        }

        /// The reports of all loops.
        let reports: Locked<[MigrationReport]>
        let ruling: Locked<Ruling>

        init(_ rule: MigrationRule, loopCount: Int) {
            self.reports = Locked(Array(repeating: MigrationReport(share: rule.share), count: loopCount))
            self.ruling = Locked(Ruling(rule: rule))
        }
    }

    /// The part of the provider that does not depend on its protocol.
    public let body: ProviderBody
    private let commons: ProviderCommons
    private let moves: MoveWatch
    private let drivers: [ProviderDriver<Client>]
    private let desk: Desk
    /// The topic of the certificate, or of the configuration.
    private let binaryTopic: String?

    /// Makes a provider. Each side connects when there is work for it.
    ///
    /// - Throws: the errors of ``BinaryProvider/init(_:)`` and ``HTTP2Provider/init(_:)``.
    public init(_ configuration: MigratingConfiguration) throws {
        var binary = configuration.binary
        var http2 = configuration.http2
        if let deadline = configuration.options.deadline {
            binary.options.deadline = deadline
            http2.options.deadline = deadline
        }
        binary.logger = configuration.logger
        try binary.validate()
        try http2.validate()
        let connectors = BothSides(binary: try ProviderConnector(binary), http2: try ProviderConnector(http2))
        let most = min(configuration.loopCount, binary.options.maxConnections, http2.options.maxConnections)
        let loops = configuration.eventLoopGroup.loops(atMost: most)
        let desk = Desk(configuration.options.rule, loopCount: loops.count)
        let moves = MoveWatch(loopCount: loops.count)
        let commons = ProviderCommons(
            loopCount: loops.count,
            outcomes: configuration.outcomes,
            queueLimit: configuration.options.queueLimit,
            observer: configuration.observer,
            logger: configuration.logger,
            moves: moves,
            topic: http2.topic,
            goneDevices: configuration.goneDevices
        )
        let shared = BinaryClient.Shared(settleTime: binary.options.settleTime)
        let dials = DialRegister()
        self.drivers = loops.enumerated().map { index, loop in
            let part = LoopPart(index, of: loops.count)
            return ProviderDriver(
                Client(
                    configuration.options,
                    binary: binary.makeClient(part, sharing: shared),
                    http2: http2.makeClient(part, dials: dials)
                ),
                on: loop,
                index: index,
                commons: commons,
                connector: { connectors[Client.side(of: $0)] },
                options: .init(
                    logger: configuration.logger,
                    tokens: http2.tokens,
                    turnEnded: { client in
                        let report = client.currentReport
                        desk.reports.withLock { $0[index] = report }
                        if moves.turnEnded(on: index, isMoving: client.isMoving) {
                            commons.events.send(.migration(.moved))
                        }
                    },
                    looksBeforeSleeping: http2.options.looksBeforeSleeping,
                    patience: Patience(binary: binary.options, http2: http2.options)
                )
            )
        }
        self.commons = commons
        self.moves = moves
        self.desk = desk
        self.binaryTopic = binary.identity?.summary.topics.first?.name ?? http2.topic
        self.body = ProviderBody(
            commons,
            self.drivers,
            // The server that takes the notifications at the end of the migration.
            spans: configuration.tracer.map {
                ProviderSpans($0, host: http2.host, port: http2.port, topic: http2.topic)
            }
        )
        binary.logCacheThatDoesNotGrow()
    }

    /// The choice of the protocol for each notification.
    ///
    /// A change takes effect at the event loop's next turn, for notifications that are not written.
    /// ``MigrationEvent/moved`` comes when all devices are on their side. After a shutdown a change has no effect.
    public var rule: MigrationRule {
        get { self.desk.ruling.withLock { $0.rule } }
        set {
            let moves = self.moves
            self.desk.ruling.withLock { ruling in
                ruling.rule = newValue
                ruling.number += 1
                ruling.feedback.sinceChange = 0
                moves.ruleChanged(to: ruling.number)
            }
            let desk = self.desk
            for driver in self.drivers where !driver.hasEnded {
                driver.eventLoop.execute {
                    // If two changes come at the same time, callers read the one that counts.
                    let ruling = desk.ruling.withLock { $0 }
                    if moves.take(ruling.number, on: driver.index) {
                        driver.machine.change(ruling.rule, now: .now)
                        driver.run()
                    }
                }
            }
        }
    }

    /// The two protocols side by side, as of the event loops' last turns.
    ///
    /// Cost: a lock and a copy. Any thread.
    public var report: MigrationReport {
        var report = self.desk.reports.withLock { reports in
            reports.dropFirst().reduce(into: reports[0]) { $0.add($1) }
        }
        let feedback = self.desk.ruling.withLock { $0.feedback }
        report.life.binary.feedback = feedback.life
        report.sinceChange.binary.feedback = feedback.sinceChange
        return report
    }

    // MARK: Devices that are gone

    /// Returns a new subscription to the devices that no longer have the app: those of status 410 over HTTP/2, and those of
    /// ``take(_:topic:)``. It holds at most `bufferingNewest` (at least 1) unread ones.
    public func feedback(bufferingNewest limit: Int) -> MigrationFeedback {
        MigrationFeedback(self.commons.events.subscribe(bufferingNewest: limit, .goneDevices))
    }

    /// Takes an entry of the binary feedback list, for ``feedback(bufferingNewest:)`` and for the report.
    ///
    /// ```swift
    /// let lists = FeedbackService(reader) { event in
    ///     if case .tuple(let tuple) = event { provider.take(tuple) }
    /// }
    /// ```
    ///
    /// - Parameters:
    ///   - tuple: the entry.
    ///   - topic: the topic of the app. Nil: that of the certificate, or of the configuration.
    public func take(_ tuple: FeedbackTuple, topic: String? = nil) {
        self.desk.ruling.withLock { ruling in
            ruling.feedback.life += 1
            ruling.feedback.sinceChange += 1
        }
        let device = GoneDevice(
            token: tuple.token,
            time: tuple.time,
            topic: topic ?? self.binaryTopic,
            side: .binary
        )
        self.commons.events.send(.migration(.gone(device)), of: .binary)
    }

    /// Returns a subscription to the events of one protocol: see ``PushProvider/events(bufferingNewest:)``, which has those of
    /// both, and of the migration.
    public func events(of side: ProviderSide, bufferingNewest limit: Int) -> ProviderEvents {
        self.commons.events.subscribe(bufferingNewest: limit, .side(side))
    }

    /// Returns the protocol of a connection.
    public static func side(of connection: ConnectionID) -> ProviderSide { Client.side(of: connection) }
}

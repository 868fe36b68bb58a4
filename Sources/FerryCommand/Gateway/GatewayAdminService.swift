internal import Ferry
internal import FerryAdmin
internal import FerryCore
internal import FerryGateway
internal import FerryOpenSSL
internal import FerryPlatform
internal import FerryTerminal

/// The admin service of the gateway of this process.
struct GatewayAdminService {
    /// What the messages of the process leave for operators. Any thread.
    final class Notes: Sendable {
        let alarms = RecentAlarms()
        private let errors = Locked<[String: AlarmLine]>([:])

        /// Notes a message, and writes it.
        @Sendable func write(_ message: LogMessage) {
            let now = Int(Date.now.timeIntervalSince1970)
            if message.mark == .alarm { self.alarms.add(AlarmLine(at: now, message.sentence)) }
            if message.event == GatewayLogEvent.upstream.rawValue, message.level >= .warning,
                case .text(let upstream) = message.members[.upstream], case .text(let reason) = message.members[.reason]
            {
                self.errors.withLock { $0[upstream] = AlarmLine(at: now, reason) }
            }
            MessageWriter.shared.write(message)
        }

        func lastError(of upstream: String) -> AlarmLine? { self.errors.withLock { $0[upstream] } }
    }

    private let server: AdminServer
    private let ticking: Task<Void, Never>
    /// The bound port; nil: there is none.
    var port: Int? { self.server.port }

    /// Begins to answer; nil if there is no socket and no port.
    ///
    /// - Throws: ``CommandFailure`` when a socket or port that was asked for cannot be had.
    static func start(
        _ plan: GatewayPlan,
        _ gateway: Gateway,
        _ upstreams: [GatewayUpstream],
        _ notes: Notes
    ) async throws(CommandFailure) -> GatewayAdminService? {
        for warning in plan.admin.warnings {
            MessageWriter.shared.write(.warning(GatewayLogEvent.adminOpen, warning))
        }
        guard plan.admin.socket.path != nil || plan.admin.port != nil else { return nil }
        let admin = GatewayAdmin(gateway, Self.surroundings(plan, upstreams, notes))
        var configuration = AdminServer.Configuration(socketPath: plan.admin.socket.path, port: plan.admin.port)
        while true {
            do {
                let server = try await AdminServer.start(configuration) { await admin.answer($0) }
                return GatewayAdminService(server: server, ticking: Task { await admin.run() })
            } catch {
                let place = configuration.socketPath ?? ""
                guard case .chosen = plan.admin.socket, configuration.socketPath != nil else {
                    let place = plan.admin.port.map { Endpoint.text($0.host, $0.number) } ?? place
                    throw .usage("admin: \(place) cannot be listened on: \(Sentence.of(error))")
                }
                MessageWriter.shared.write(
                    .warning(
                        GatewayLogEvent.adminFailed,
                        "the admin socket \(place) cannot be made: \(Sentence.of(error))",
                        [.file: .text(place), .reason: .text(Sentence.of(error))]
                    )
                )
                configuration.socketPath = nil
                if configuration.port == nil { return nil }
            }
        }
    }

    private static func surroundings(
        _ plan: GatewayPlan,
        _ upstreams: [GatewayUpstream],
        _ notes: Notes
    ) -> GatewayAdmin.Surroundings {
        let names = plan.upstreamNames
        var around = GatewayAdmin.Surroundings(
            ferry: Version.current,
            upstreams: zip(names, plan.upstreams).map { ($0, Endpoint.text($1.host, $1.port)) },
            watches: upstreams.map(\.watch),
            storePath: plan.store?.path
        )
        around.lastError = { notes.lastError(of: names[$0]) }
        around.alarms = { notes.alarms.all }
        around.droppedLogs = { MessageWriter.shared.dropped }
        let certificates = plan.certificates.map {
            CertificateEnd(file: $0.file, use: $0.use, endsAt: Int($0.end.timeIntervalSince1970))
        }
        around.certificates = { certificates }
        return around
    }

    func stop() async {
        self.ticking.cancel()
        await self.server.stop()
    }
}

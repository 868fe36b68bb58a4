internal import Ferry
internal import FerryAdmin
internal import FerryCore
internal import FerryGateway
internal import FerryOpenSSL
internal import FerryPlatform
internal import FerryTerminal

/// The admin service of the gateway of this process.
enum GatewayAdminService {
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

    /// Begins to answer; nil if there is no socket and no port.
    ///
    /// - Throws: ``CommandFailure`` when a socket or port that was asked for cannot be had.
    static func start(
        _ plan: GatewayPlan,
        _ gateway: Gateway,
        _ upstreams: [GatewayUpstream],
        _ notes: Notes
    ) async throws(CommandFailure) -> AdminService? {
        let admin = GatewayAdmin(gateway, Self.surroundings(plan, upstreams, notes))
        return try await AdminService.start(plan.admin, tick: { await admin.run() }, answer: { await admin.answer($0) })
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
}

internal import FerryAdmin
internal import FerryCore
internal import FerryGateway
internal import FerryPlatform
internal import FerryTerminal

/// The admin service of the gateway of this process.
struct GatewayAdminService {
    /// The alarms and errors of the process's messages, kept for operators. Any thread.
    final class Notes: Sendable {
        let alarms = RecentAlarms()
        private let errors = Locked<[String: AlarmLine]>([:])
        private let reload = Locked<AlarmLine?>(nil)

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

        /// Notes the reason why the last reload was refused; nil if it was taken.
        func refusedReload(_ sentence: String?) {
            let line = sentence.map { AlarmLine(at: Int(Date.now.timeIntervalSince1970), $0) }
            self.reload.withLock { $0 = line }
        }

        /// The last reload, if it was refused.
        var refused: AlarmLine? { self.reload.withLock { $0 } }

        func lastError(of upstream: String) -> AlarmLine? { self.errors.withLock { $0[upstream] } }
    }

    let service: AdminService
    private let admin: GatewayAdmin

    /// Begins to answer; nil if there is no socket and no port.
    ///
    /// - Throws: ``CommandFailure`` when a socket or port that was asked for cannot be had.
    static func start(
        _ plan: GatewayPlan,
        _ gateway: Gateway,
        _ around: GatewayAdmin.Surroundings
    ) async throws(CommandFailure) -> GatewayAdminService? {
        let admin = GatewayAdmin(gateway, around)
        let service = try await AdminService.start(plan.admin, admin.routes) { await admin.answer($0) }
        return service.map { GatewayAdminService(service: $0, admin: admin) }
    }

    /// Takes the surroundings after a reload.
    func surround(_ around: GatewayAdmin.Surroundings) { self.admin.surround(around) }
}

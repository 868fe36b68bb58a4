internal import FerryAdmin
internal import FerryCore
internal import FerryGateway
internal import FerryPlatform
internal import FerryTerminal

/// The admin service of the gateway of this process.
struct GatewayAdminService {
    /// The alarms of the process's messages, kept for operators. Any thread.
    final class Notes: Sendable {
        let alarms = RecentAlarms()
        private let reload = Locked<AlarmLine?>(nil)

        /// Notes a message, and writes it.
        @Sendable func write(_ message: LogMessage) {
            if message.mark == .alarm { self.alarms.add(.now(message.sentence)) }
            MessageWriter.shared.write(message)
        }

        /// Notes the reason why the last reload was refused; nil if it was taken.
        func refusedReload(_ sentence: String?) {
            let line = sentence.map { AlarmLine.now($0) }
            self.reload.withLock { $0 = line }
        }

        /// The last reload, if it was refused.
        var refused: AlarmLine? { self.reload.withLock { $0 } }
    }

    let service: AdminService
    private let admin: GatewayAdmin

    /// Begins to answer. Without a port, returns nil if there is no socket, or if a socket that the program chose
    /// fails.
    ///
    /// - Throws: ``CommandFailure`` when a socket or port that was asked for cannot be had.
    static func start(
        _ plan: GatewayPlan,
        _ gateway: any AdministeredGateways,
        _ around: GatewayAdmin.Surroundings
    ) async throws(CommandFailure) -> GatewayAdminService? {
        let admin = GatewayAdmin(gateway, around)
        let service = try await AdminService.start(plan.admin, admin.routes) { await admin.answer($0) }
        return service.map { GatewayAdminService(service: $0, admin: admin) }
    }

    /// Takes the surroundings after a reload.
    func surround(_ around: GatewayAdmin.Surroundings) { self.admin.surround(around) }
}

extension AlarmLine {
    /// A line of this moment.
    static func now(_ sentence: String) -> AlarmLine {
        AlarmLine(at: Int(Date.now.timeIntervalSince1970), sentence)
    }
}

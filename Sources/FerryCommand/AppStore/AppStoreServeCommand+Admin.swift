internal import FerryAdmin
internal import FerryAppStore
internal import FerryOpenSSL
internal import FerryPlatform
internal import FerryTerminal

/// The warnings and errors of a receiver's messages, kept for operators. Safe from any thread.
final class AppStoreAlarms: Sendable {
    /// The events that repeat while a destination or a sender fails. They would push all other events out of
    /// ``recent``.
    private static let frequent: Set<String> = Set(
        [AppStoreLogEvent.notDelivered, .postponed, .linesHidden].map(\.rawValue)
    )

    let recent = RecentAlarms()

    /// Notes a message, and writes it.
    @Sendable func write(_ message: LogMessage) {
        if message.level >= .warning, !Self.frequent.contains(message.event) {
            self.recent.add(AlarmLine(at: Int(Date.now.timeIntervalSince1970), message.sentence))
        }
        MessageWriter.shared.write(message)
    }
}

extension AppStoreServeCommand {
    /// Starts the admin service of a receiver. Without a port, returns nil if there is no socket, or if a socket that
    /// the program chose fails.
    ///
    /// The service is separate from the control socket of the store, which operators have for lists of millions and
    /// for changes. The control socket shares its event loops with Apple's posts, and a receiver without a store has
    /// none.
    static func start(
        _ plan: AdminPlan,
        _ watch: AppStoreWatch,
        _ store: (store: AppStoreStore, path: String)?,
        _ server: AppStoreServer,
        _ alarms: AppStoreAlarms,
        _ certificates: [CertificateWarnings.Entry]
    ) async throws(CommandFailure) -> AdminService? {
        let facts = ProcessFacts(certificates, alarms.recent, storePath: store?.path)
        let routes = AppStoreAdmin.routes(watch, store?.store, facts) { server.connections }
        return try await AdminService.start(plan, routes) { await routes.answer($0) }
    }
}

internal import FerryAdmin
internal import FerryAppStore
internal import FerryOpenSSL
internal import FerryPlatform
internal import FerryTerminal

/// The alarms and errors of a receiver's messages, kept for operators. Any thread.
final class AppStoreAlarms: Sendable {
    /// The events that come again and again while a destination or a sender is in trouble: they would push out all others.
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
    /// Starts the admin service of a receiver; nil if there is no socket and no port.
    ///
    /// It stands beside the control socket of the store. Operators have that one for lists of millions and for changes; it
    /// shares its event loops with Apple's posts, and a receiver without a store has none.
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

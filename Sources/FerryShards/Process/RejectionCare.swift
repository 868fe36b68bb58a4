internal import FerryPostgres

/// Removes old rejections of all shards, on a session of its own. Each process does so. The processes do not wait for
/// each other, because locked rows are passed over.
struct RejectionCare: Sendable {
    private static let interval: Duration = .seconds(60)
    /// The time between two steps while old rows are left.
    private static let pause: Duration = .milliseconds(100)
    private static let limit: Duration = .seconds(60)

    private let settings: PostgresSettings
    private let keep: Duration

    init(_ setup: ShardProcess.Setup) {
        self.keep = setup.rejections
        self.settings = PostgresSettings(
            setup.connection,
            name: "ferry \(setup.node) care",
            parameters: PostgresSettings.finding
        )
    }

    /// Works until the task is cancelled.
    func run() async {
        while !Task.isCancelled {
            await self.trim()
            try? await Task.sleep(for: Self.interval)
        }
    }

    /// Removes all old rows. An error ends the removal until the next call. The error is not reported here: the looks
    /// of the process report that PostgreSQL is away, and the start has checked the rights.
    private func trim() async {
        let session = PostgresSession(self.settings)
        defer { session.close() }
        let statement = PostgresStatement(ShardSQL.forget, [.integer(self.keep.components.seconds)])
        while !Task.isCancelled, let rows = try? await session.send(statement, within: Self.limit), rows.changed > 0 {
            try? await Task.sleep(for: Self.pause)
        }
    }
}

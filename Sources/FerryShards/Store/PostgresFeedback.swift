internal import FerryCore
internal import FerryGateway
internal import FerryPostgres

/// The feedback rows of all shards. A reader has a session of its own, whose transaction locks the rows. So another
/// reader does not get these rows. If the process ends before they are removed, the next reader gets them.
struct PostgresFeedback: Sendable {
    /// How long PostgreSQL may take to give the rows, and to remove them.
    private static let limit: Duration = .seconds(30)
    /// PostgreSQL ends a reader's session after this time without a statement. It is longer than ``FeedbackRows/claimTime``.
    private static let parameters = PostgresSettings.committing.merging(
        ["idle_in_transaction_session_timeout": "70s"]
    ) { $1 }

    /// The largest number of readers at a time in this process. Each has a session.
    private static let readers = 8
    private static let reading = Locked(0)

    /// The largest number of rows for one reader, so that they come in time. The next reader gets the next rows.
    private static let rows = 100_000

    let connection: String
    let node: String

    /// Takes the rows of a client, without the rows that another reader has. Throws if too many readers have a
    /// session, or if PostgreSQL does not give the rows.
    func take(_ client: String) async throws(StoreError) -> any FeedbackClaim {
        let isBusy = Self.reading.withLock { count -> Bool in
            guard count < Self.readers else { return true }
            count += 1
            return false
        }
        guard !isBusy else { throw StoreError("\(Self.readers) readers have a session with PostgreSQL: read later.") }
        let session = PostgresSession(
            PostgresSettings(self.connection, name: "ferry \(self.node) feedback", parameters: Self.parameters)
        ) { _ in Self.reading.withLock { $0 -= 1 } }
        do throws(PostgresError) {
            _ = try await session.send(PostgresStatement(ShardSQL.begin), within: Self.limit)
            let rows = try await session.send(
                PostgresStatement(ShardSQL.feedback, [.text(client), .integer(Int64(Self.rows))]),
                within: Self.limit
            )
            return Claim(rows, session)
        } catch {
            session.close()
            throw StoreError("The feedback rows cannot be read. \(error.description)")
        }
    }

    /// The rows of one reader. The reader's session ends with this object at the latest.
    private final class Claim: FeedbackClaim {
        let rows: [FeedbackRows.Row]
        private let ids: [Int64]
        private let session: Locked<PostgresSession?>

        init(_ answer: PostgresRows, _ session: PostgresSession) {
            var rows: [FeedbackRows.Row] = []
            var ids: [Int64] = []
            rows.reserveCapacity(answer.count)
            ids.reserveCapacity(answer.count)
            for row in 0..<answer.count {
                guard let id = answer.integer(row, 0), let token = answer.bytes(row, 1),
                    let since = answer.integer(row, 2)
                else { continue }
                ids.append(id)
                rows.append(FeedbackRows.Row(token: token, since: UInt32(clamping: since)))
            }
            self.rows = rows
            self.ids = ids
            self.session = Locked(session)
            if rows.isEmpty { self.giveBack() }
        }

        deinit { self.giveBack() }

        func read() {
            guard let session = self.session.withLock({ $0.take() }) else { return }
            session.send(
                PostgresStatement(ShardSQL.feedbackRead, [.integers(self.ids)]),
                within: PostgresFeedback.limit
            ) { _ in }
            // After a refused statement, this rolls back.
            session.send(PostgresStatement(ShardSQL.commit), within: PostgresFeedback.limit) { _ in session.close() }
        }

        func giveBack() { self.session.withLock { $0.take() }?.close() }
    }
}

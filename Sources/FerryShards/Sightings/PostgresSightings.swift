internal import FerryCore
internal import FerryGateway
internal import FerryPostgres
internal import NIOCore

/// The reports of ``Sightings`` to the database, on a session that is made when it is needed. The database answers which
/// clients were seen in another shard.
///
/// Nothing waits for a report. While PostgreSQL does not answer, reports are lost, and the next ones follow after a minute.
final class PostgresSightings: Sendable {
    private static let limit: Duration = .seconds(3)

    private struct State {
        var sightings = Sightings()
        /// Whether a report has no answer yet.
        var isBusy = false
        /// Whether PostgreSQL has refused a report since the last success. Only the first refusal becomes an event.
        var isRefused = false
        var misrouted = 0
        /// When old rows are removed next.
        var removesAt = NIODeadline.sinceBoot + Sightings.interval
    }

    private let settings: PostgresSettings
    private let onEvent: @Sendable (ShardEvent) -> Void
    private let state = Locked(State())
    private let session = Locked<PostgresSession?>(nil)

    /// - Parameters:
    ///   - connection: a connection string of libpq.
    ///   - node: the name of this process.
    init(connection: String, node: String, onEvent: @escaping @Sendable (ShardEvent) -> Void) {
        self.settings = PostgresSettings(
            connection,
            name: "ferry \(node) sightings",
            parameters: PostgresSettings.finding
        )
        self.onEvent = onEvent
    }

    /// The number of ``ShardEvent/misrouted(_:shards:)`` events.
    var misrouted: Int { self.state.withLock { $0.misrouted } }

    func note(_ client: ClientAddress, in shard: Int, isOpen: Bool) {
        let sighting = Sightings.Sighting(client: client, shard: shard)
        self.state.withLock { state in
            if isOpen { state.sightings.opened(sighting) } else { state.sightings.closed(sighting) }
        }
    }

    /// Sends the next report, if the last report was answered, and if sightings or the removal of old rows are due.
    func report(now: NIODeadline) {
        let next = self.state.withLock { state -> (report: [Sightings.Sighting], removes: Bool)? in
            guard !state.isBusy else { return nil }
            let (report, removes) = (state.sightings.takeReport(now: now), state.removesAt <= now)
            guard !report.isEmpty || removes else { return nil }
            if removes { state.removesAt = now + Sightings.interval }
            state.isBusy = true
            return (report, removes)
        }
        guard let (report, removes) = next else { return }
        let session = self.session.withLock { present in
            let session = present ?? PostgresSession(self.settings)
            present = session
            return session
        }
        if removes {
            session.send(PostgresStatement(ShardSQL.removeSightings), within: Self.limit) { _ in }
        }
        let values: [PostgresValue] = [
            .texts(report.map(\.client.client)), .texts(report.map(\.client.address)),
            .smallIntegers(report.map { Int16(clamping: $0.shard) }),
        ]
        session.send(PostgresStatement(ShardSQL.reportSightings, values), within: Self.limit) { answer in
            self.answered(answer)
        }
    }

    private func answered(_ answer: PostgresSession.Answer) {
        var events: [ShardEvent] = []
        switch answer {
        case .success(let rows):
            events = (0..<rows.count).compactMap { row in
                guard let client = rows.text(row, 0), let address = rows.text(row, 1),
                    let shard = rows.integer(row, 2), let other = rows.integer(row, 3)
                else { return nil }
                let seen = ClientAddress(client: client, address: address)
                return .misrouted(seen, shards: [Int(shard), Int(other)].sorted())
            }
            self.state.withLock { state in
                state.misrouted += events.count
                (state.isRefused, state.isBusy) = (false, false)
            }
        case .failure(let error):
            let isRefused = error.kind == .refused
            if !isRefused { self.close() }
            let isNews = self.state.withLock { state -> Bool in
                defer { state.isRefused = state.isRefused || isRefused }
                state.isBusy = false
                return isRefused && !state.isRefused
            }
            // Only a refusal is reported here. The look at the shards reports that PostgreSQL is away.
            if isNews { events = [.trouble(shard: nil, error.description)] }
        }
        for event in events { self.onEvent(event) }
    }

    func close() { self.session.withLock { $0.take() }?.close() }
}

internal import FerryAdmin
internal import FerryGateway
internal import FerryShards
internal import FerryTerminal

/// The metrics and the health of a process that owns shards.
struct ShardAdmin {
    private let server: AdminServer

    /// Begins to answer; nil if there is no socket and no port.
    ///
    /// - Parameter ferry: the version of the program.
    /// - Throws: ``CommandFailure`` when a socket or port cannot be had.
    static func start(_ plan: AdminPlan, _ process: ShardProcess, ferry: String) async throws(CommandFailure)
        -> ShardAdmin?
    {
        for warning in plan.warnings { MessageWriter.shared.write(.warning(ServerLogEvent.adminOpen, warning)) }
        guard plan.socket.path != nil || plan.port != nil else { return nil }
        do {
            let server = try await AdminServer.start(.init(socketPath: plan.socket.path, port: plan.port)) { request in
                await self.answer(request, process, ferry)
            }
            return ShardAdmin(server: server)
        } catch {
            throw CommandFailure.usage("admin: it cannot be listened on: \(Sentence.of(error))")
        }
    }

    var port: Int? { self.server.port }

    func stop() async { await self.server.stop() }

    private static func answer(_ request: AdminRequest, _ process: ShardProcess, _ ferry: String) async -> AdminAnswer {
        guard request.method == "GET" || request.method == "HEAD" else { return .notFound }
        switch request.path {
        case "/health/live": return AdminAnswer(status: 200, "It runs.")
        case "/health/ready":
            let figures = await process.figures
            guard figures.isPostgresUp else { return AdminAnswer(status: 503, "PostgreSQL does not answer.") }
            return AdminAnswer(status: 200, "It owns \(figures.owned.count) shards.")
        case "/metrics":
            let text = Self.metrics(await process.figures, await process.counts, ferry)
            return AdminAnswer(contentType: MetricsText.contentType, body: text.bytes)
        default: return .notFound
        }
    }

    /// - Parameter counts: the counts of each shard's gateway.
    static func metrics(_ figures: ShardFigures, _ counts: [Int: FateCounts], _ ferry: String) -> MetricsText {
        var text = MetricsText(ferry: ferry)
        func name(_ name: String) -> String { "ferry_shard_\(name)" }
        func series(_ value: (ShardFigures.Owned) -> Double) -> [MetricsText.Series] {
            figures.owned.sorted { $0.shard < $1.shard }.map { .init(value($0), [("shard", "\($0.shard)")]) }
        }
        text.add(.gauge, name("owned"), "1 for each shard that this process owns.", series { _ in 1 })
        text.add(.counter, name("takes_total"), "Shards that this process took.", figures.takes)
        text.add(
            .counter,
            name("returns_total"),
            "Sessions that ended, and whose owner came back.",
            figures.returns
        )
        text.add(.counter, name("fenced_total"), "Shards that another process took meanwhile.", figures.fenced)
        text.add(
            .counter,
            name("sent_without_right_total"),
            "Notifications that were written after the right to forward had ended.",
            figures.sentWithoutRight
        )
        text.add(
            .gauge,
            name("right_seconds"),
            "The time for which the right to forward is left.",
            series { $0.rightSeconds }
        )
        text.add(
            .gauge,
            name("ring_bytes"),
            "Acknowledged commits that are kept, to write them again after a failover.",
            series { Double($0.ringLength) }
        )
        text.add(
            .gauge,
            name("ownerless"),
            "Shards that no process has owned for ten seconds, or that this one owns and still reads.",
            figures.ownerless
        )
        text.add(
            .gauge,
            name("clock_seconds"),
            "How far the clock of this machine is ahead of PostgreSQL's.",
            figures.clockSeconds
        )
        text.add(
            .counter,
            name("misrouted_total"),
            "Alarms about a client that came from one address to two shards, at most one a minute for each.",
            figures.misrouted
        )
        text.add(
            .gauge,
            name("postgres_up"),
            "Whether the last look at the shards was answered.",
            figures.isPostgresUp ? 1 : 0
        )
        let fates: [(String, MetricsText.Kind, String, KeyPath<FateCounts, Int>)] = [
            ("read_total", .counter, "Notifications that were read from old clients.", \.read),
            ("recovered_total", .counter, "Notifications of an earlier owner without an answer.", \.recovered),
            ("accepted_total", .counter, "Notifications that APNs accepted.", \.accepted),
            ("waiting", .gauge, "Notifications without a final answer.", \.unanswered),
        ]
        for (metric, kind, help, path) in fates {
            let series = counts.sorted { $0.key < $1.key }.map { shard, counts in
                MetricsText.Series(counts[keyPath: path], [("shard", "\(shard)")])
            }
            text.add(kind, name(metric), help, series)
        }
        return text
    }
}

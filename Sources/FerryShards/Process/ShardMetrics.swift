package import FerryAdmin
internal import FerryCore
internal import FerryGateway

/// The metrics of the shards of a process.
extension ShardFigures {
    package func add(to text: inout MetricsText) {
        func name(_ name: String) -> String { "ferry_shard_\(name)" }
        let owned = self.owned.sorted { $0.shard < $1.shard }
        func series(_ value: (Owned) -> Double) -> [MetricsText.Series] {
            owned.map { .init(value($0), [("shard", "\($0.shard)")]) }
        }
        text.add(.gauge, name("owned"), "1 for each shard that this process owns.", series { _ in 1 })
        text.add(.counter, name("takes_total"), "Shards that this process took.", self.takes)
        text.add(.counter, name("returns_total"), "Sessions that ended, and whose owner came back.", self.returns)
        text.add(.counter, name("fenced_total"), "Shards that another process took meanwhile.", self.fenced)
        text.add(
            .counter,
            name("sent_without_right_total"),
            "Notifications that were written after the right to forward had ended.",
            self.sentWithoutRight
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
            name("append_seconds"),
            "From a commit to the answer of PostgreSQL.",
            owned.map { ([("shard", "\($0.shard)")], $0.appends) }
        )
        text.add(.gauge, name("segments"), "Segments in PostgreSQL.", series { Double($0.segments) })
        text.add(
            .counter,
            name("late_frames_total"),
            "Notifications that a former owner handed over: to this process, or from it.",
            [.init(self.late.takenOver, [("direction", "in")]), .init(self.late.handedOver, [("direction", "out")])]
        )
        text.add(
            .gauge,
            name("late_frames_waiting"),
            "Notifications of shards that another process owns, which are not handed over yet.",
            self.late.waiting
        )
        text.add(
            .gauge,
            name("ownerless"),
            "Shards that no process has owned for ten seconds, or that this one owns and still reads.",
            self.ownerless
        )
        text.add(
            .gauge,
            name("clock_seconds"),
            "How far the clock of this machine is ahead of PostgreSQL's.",
            self.clockSeconds
        )
        text.add(
            .counter,
            name("misrouted_total"),
            "Alarms about a client that came from one address to two shards, at most one a minute for each.",
            self.misrouted
        )
        text.add(
            .gauge,
            name("postgres_up"),
            "Whether the last look at the shards was answered.",
            self.isPostgresUp ? 1 : 0
        )
        let fates: [(String, MetricsText.Kind, String, KeyPath<FateCounts, Int>)] = [
            ("read_total", .counter, "Notifications that were read from old clients.", \.read),
            ("recovered_total", .counter, "Notifications of an earlier owner without an answer.", \.recovered),
            ("accepted_total", .counter, "Notifications that APNs accepted.", \.accepted),
            ("waiting", .gauge, "Notifications without a final answer.", \.unanswered),
        ]
        for (metric, kind, help, path) in fates {
            text.add(kind, name(metric), help, series { Double($0.counts[keyPath: path]) })
        }
    }
}

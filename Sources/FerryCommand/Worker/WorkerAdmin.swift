internal import FerryAdmin
internal import FerryCore
internal import FerryPlatform
internal import FerryWorker

/// The state of a worker for operators.
struct WorkerStatus: ServerStatus {
    var ferry = Version.current
    var now = Int(Date.now.timeIntervalSince1970)
    var startedAt: Int
    var troubles: [Condition]
    var certificates: [CertificateStatus] = []
    var alarms: [AlarmLine]

    var condition: Condition { self.troubles.first ?? Condition(.well, "Rows are delivered.") }
    var ready: Health {
        self.condition.level == .down
            ? Health(isGood: false, self.condition.sentence) : Health(isGood: true, "It takes rows.")
    }
    var delivering: Health { Health(isGood: self.troubles.isEmpty, self.condition.sentence) }

    private enum CodingKeys: CodingKey { case ferry, now, startedAt, troubles, certificates, alarms }

    init(_ figures: QueueWorker.Figures, startedAt: Int, _ alarms: RecentAlarms) {
        self.startedAt = startedAt
        self.alarms = alarms.all
        self.troubles =
            (figures.hasPostgres ? [] : [Condition(.down, "PostgreSQL does not answer, or refuses a statement.")])
            + figures.held.map { Condition(.trouble, "The rows of '\($0)' wait.") }
    }
}

/// The admin service of a worker.
enum WorkerAdmin {
    static func routes(_ worker: QueueWorker, _ messages: WorkerMessages) -> StatusRoutes {
        let startedAt = Int(Date.now.timeIntervalSince1970)
        return StatusRoutes(silence: "The worker does not answer.", storePath: nil) { _ in
            let figures = await worker.figures
            return StatusRoutes.Snapshot(
                WorkerStatus(figures, startedAt: startedAt, messages.alarms),
                page: { AdminAnswer(encoding: $0) },
                metrics: { status, _ in Self.metrics(figures, status) }
            )
        }
    }

    private static func metrics(_ figures: QueueWorker.Figures, _ status: WorkerStatus) -> MetricsText {
        var text = MetricsText(ferry: status.ferry)
        func seconds(_ time: Duration) -> Double {
            Double(time.components.seconds) + Double(time.components.attoseconds) / 1e18
        }
        text.add(
            .counter,
            "ferry_worker_outcomes_total",
            "Rows whose outcome was written, by its word.",
            RowFate.Word.allCases.map { .init(figures.outcomes[$0] ?? 0, [("word", $0.rawValue)]) }
        )
        text.add(.counter, "ferry_worker_retries_total", "Attempts after which a row stayed.", figures.retries)
        text.add(.gauge, "ferry_worker_unanswered", "Rows that were sent and have no answer.", figures.unanswered)
        text.add(.gauge, "ferry_worker_postgres_up", "Whether PostgreSQL answers.", figures.hasPostgres ? 1 : 0)
        text.add(
            .gauge,
            "ferry_worker_client_held",
            "The clients whose rows are left alone; always 1.",
            figures.held.map { .init(1, [("client", $0)]) }
        )
        text.add(
            "ferry_worker_batch_seconds",
            "The time from the select of a batch to its write.",
            [(labels: [], times: figures.batches)]
        )
        if let queue = figures.queue {
            text.add(.gauge, "ferry_worker_queue_depth", "Rows that are due, 100,000 at most.", queue.depth)
            text.add(
                .gauge,
                "ferry_worker_queue_age_seconds",
                "How long the first of them has been due.",
                [.init(seconds(queue.age))]
            )
            text.add(
                .gauge,
                "ferry_worker_oldest_transaction_seconds",
                "How long the oldest transaction of the database is open.",
                // A transaction may begin after the query that finds it, and its age is then negative.
                [.init(max(seconds(queue.oldestTransaction), 0))]
            )
        }
        return text
    }
}

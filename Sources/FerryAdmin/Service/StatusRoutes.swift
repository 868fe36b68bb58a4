/// The routes that every admin service has: the page, the status, the metrics and health.
///
/// All readers share one snapshot of the server, which is made at most ten times a second.
package final class StatusRoutes: Sendable {
    /// The state of a server at one moment.
    package struct Snapshot: Sendable {
        fileprivate let status: any ServerStatus
        fileprivate let page: @Sendable () -> AdminAnswer
        fileprivate let metrics: @Sendable (_ storeBytes: Int?) -> MetricsText
        fileprivate let answers = SharedAnswers()

        /// - Parameter metrics: makes the metrics from the status and the size of the store on disk, in bytes. The size
        ///   is nil if there is no store, or if the disk does not answer.
        package init<Status: ServerStatus>(
            _ status: Status,
            page: @escaping @Sendable (Status) -> AdminAnswer,
            metrics: @escaping @Sendable (Status, _ storeBytes: Int?) -> MetricsText
        ) {
            self.status = status
            self.page = { page(status) }
            self.metrics = { metrics(status, $0) }
        }
    }

    /// The time for which a snapshot is used.
    package static let lifetime: Duration = .milliseconds(100)
    /// The longest time that a reader waits for a snapshot.
    package static let patience: Duration = .seconds(2)
    /// The pause between two snapshots of ``run()``. The history needs the counts at least once in ten seconds.
    private static let tick: Duration = .seconds(5)

    /// The sentence of the answer if no snapshot is made in time.
    private let silence: String
    private let patience: Duration
    private let snapshot: SharedValue<Snapshot?>
    private let storeSize: StoreSize?

    /// - Parameters:
    ///   - silence: the sentence of the answer if no snapshot is made in time.
    ///   - storePath: the path of the store; nil without a store.
    ///   - patience: how long a reader waits for a snapshot. A test waits longer.
    ///   - make: makes a snapshot, and notes its counts in the history. It returns nil if the server ends.
    package init(
        silence: String,
        storePath: String?,
        lifetime: Duration = StatusRoutes.lifetime,
        patience: Duration = StatusRoutes.patience,
        _ make: @escaping @Sendable (ServerHistory) async -> Snapshot?
    ) {
        self.silence = silence
        self.patience = patience
        self.storeSize = storePath.map { StoreSize(of: $0) }
        let history = ServerHistory()
        self.snapshot = SharedValue(lifetime: lifetime) { await make(history) }
    }

    /// Notes the rates until the task is cancelled. Without this task, the picture of the last hour would have gaps
    /// while nobody asks.
    package func run() async {
        while !Task.isCancelled {
            _ = await self.snapshot.value(within: self.patience)
            try? await Task.sleep(for: Self.tick)
        }
    }

    /// Answers a request that was let in.
    package func answer(_ request: AdminRequest) async -> AdminAnswer {
        guard request.method == "GET" || request.method == "HEAD" else { return .notFound }
        // This route says only that the process answers, because a restart would not cure anything else.
        if request.path == "/health/live" { return AdminAnswer(status: 200, "It runs.") }
        guard ["/", "/status", "/metrics", "/health/ready", "/health/delivering"].contains(request.path) else {
            return .notFound
        }
        guard let found = await self.snapshot.value(within: self.patience) else {
            return AdminAnswer(status: 503, self.silence)
        }
        guard let snapshot = found else { return AdminAnswer(status: 503, "It ends.") }
        let storeBytes: Int? = if request.path == "/metrics" { await self.storeSize?.bytes } else { nil }
        return snapshot.answers.answer(request.path) {
            switch request.path {
            case "/": snapshot.page()
            case "/status": AdminAnswer(encoding: snapshot.status)
            case "/metrics":
                AdminAnswer(contentType: MetricsText.contentType, body: snapshot.metrics(storeBytes).bytes)
            case "/health/ready": AdminAnswer(snapshot.status.ready)
            default: AdminAnswer(snapshot.status.delivering)
            }
        }
    }
}

internal import FerryAdmin
internal import FerryCore
internal import FerryServer

/// The page of metrics of a receiver.
///
/// The equation of ``PostFigures`` holds in every page, because all counts of posts are from one copy, taken under a
/// lock.
struct AppStoreMetrics {
    let posts: PostFigures
    /// The figures of the destinations, in the order of the status.
    let deliveries: [DeliveryWatch.Figures]
    let status: AppStoreStatus
    let connections: ConnectionCounts
    /// The number of log lines that were dropped.
    let droppedLogs: Int
    /// The size of the store on disk; nil without a store, or if the disk does not answer.
    let storeBytes: Int?

    var text: MetricsText {
        var text = MetricsText(ferry: self.status.ferry)
        self.addPosts(&text)
        self.addDeliveries(&text)
        self.addStore(&text)
        self.addConnections(&text)
        return text
    }

    private func addPosts(_ text: inout MetricsText) {
        let counts: [(String, String, Int)] = [
            ("posts_total", "Posts, and requests for other paths.", self.posts.posts),
            ("verified_total", "Posts that are genuine and for an app that is served.", self.posts.verified),
            (
                "taken_total",
                "Notifications that were taken: by the store, or without one by your URL.",
                self.posts.taken
            ),
            ("copies_total", "Posts whose notification was taken before.", self.posts.copies),
            (
                "postponed_total",
                "Verified posts whose notification was not taken, so that Apple sends it again.",
                self.posts.postponed
            ),
        ]
        for (name, help, count) in counts { text.add(.counter, "ferry_appstore_\(name)", help, count) }
        text.add(
            .counter,
            "ferry_appstore_refused_total",
            "Refused posts, by cause.",
            PostFigures.Cause.allCases.map { .init(self.posts.refused[$0, default: 0], [("cause", $0.rawValue)]) }
        )
        text.add(
            .counter,
            "ferry_appstore_answers_total",
            "Answers to posts, by status.",
            self.posts.answers.sorted { $0.key < $1.key }.map { .init($0.value, [("status", "\($0.key)")]) }
        )
        text.add(
            "ferry_appstore_answer_seconds",
            "From the last byte of a post to its answer.",
            [([], self.posts.times)]
        )
    }

    private func addDeliveries(_ text: inout MetricsText) {
        let named = zip(self.status.destinations, self.deliveries)
        func add(
            _ kind: MetricsText.Kind,
            _ name: String,
            _ help: String,
            _ value: (AppStoreStatus.Destination, DeliveryWatch.Figures) -> Int
        ) {
            text.add(
                kind,
                "ferry_appstore_\(name)",
                help,
                named.map { .init(value($0, $1), [("destination", $0.name)]) }
            )
        }
        add(.counter, "delivered_total", "Deliveries that succeeded.") { $1.delivered }
        add(.counter, "delivery_failures_total", "Attempts of deliveries that failed.") { $1.failed }
        add(.counter, "set_aside_total", "Deliveries that were given up.") { $1.setAside }
        add(.gauge, "deliveries_under_way", "Attempts that run.") { $1.underWay }
        add(.gauge, "destination_usable", "0 while the last attempts failed.") { destination, _ in
            destination.state == .failing ? 0 : 1
        }
        text.add(
            "ferry_appstore_delivery_seconds",
            "Attempts of deliveries that succeeded.",
            named.map { ([("destination", $0.name)], $1.times) }
        )
        guard self.status.store != .none else { return }
        add(.gauge, "waiting_deliveries", "Deliveries that wait, up to 100000.") { destination, _ in
            destination.waiting
        }
        add(.gauge, "dead_deliveries", "Deliveries in the store that were given up, up to 100000.") { destination, _ in
            destination.setAside
        }
    }

    private func addStore(_ text: inout MetricsText) {
        guard self.status.store != .none else { return }
        text.add(
            .gauge,
            "ferry_appstore_unsent_deliveries",
            "Deliveries that wait for a URL that is not named any more.",
            self.status.unsent
        )
        text.add(
            .gauge,
            "ferry_appstore_oldest_seconds",
            "The age of the oldest notification whose delivery waits; 0 if there is none.",
            [.init(self.status.oldestAge ?? 0)]
        )
        text.add(.gauge, "ferry_appstore_kept_notifications", "Notifications in the store.", self.status.kept)
        text.add(
            .gauge,
            "ferry_appstore_store_writable",
            "1 while the store can be written.",
            self.status.store == .good ? 1 : 0
        )
        if let bytes = self.storeBytes {
            text.add(.gauge, "ferry_appstore_store_bytes", "The size of the store on disk.", bytes)
        }
    }

    private func addConnections(_ text: inout MetricsText) {
        text.add(.gauge, "ferry_appstore_connections", "Open connections.", self.status.connections)
        let counts: [(String, String, Int)] = [
            ("connections_accepted_total", "Connections that were accepted.", self.connections.connections),
            ("handshakes_total", "TLS handshakes that succeeded.", self.connections.handshakes),
            ("handshake_failures_total", "TLS handshakes that failed.", self.connections.handshakeFailures),
            ("connection_waits_total", "Times that a connection waited for a place.", self.connections.waits),
            ("log_lines_dropped_total", "Lines that the log had no room for.", self.droppedLogs),
        ]
        for (name, help, count) in counts { text.add(.counter, "ferry_appstore_\(name)", help, count) }
        text.add(self.status.certificates, of: "appstore")
        if let process = ProcessFigures.current { text.add(process) }
    }
}

internal import FerryAdmin
internal import FerryCore

/// The page of metrics of a gateway.
///
/// The two sums of ``FateCounts`` hold in every page, because one turn of the event loop makes all figures of a
/// gateway.
struct GatewayMetrics {
    /// The largest number of clients with series of their own. All other clients are counted together as `other`,
    /// because many clients would make too many series for Prometheus.
    static let clientLimit = 200
    private static let otherClients = "other"

    /// The facts about an upstream that ``GatewayFigures`` does not have.
    struct Upstream: Sendable {
        var name: String
        /// Whether the upstream can be used, and no topic's gate is shut; nil if no client uses the upstream and no
        /// notification waits for it.
        var isUsable: Bool?
        var watched: UpstreamWatch.Figures
    }

    fileprivate typealias Labels = [(name: String, value: String)]

    let figures: GatewayFigures
    let loop: LoopFigures
    /// The status at the moment of the figures.
    let status: GatewayStatus
    /// The upstreams by their numbers.
    let upstreams: [Upstream]
    /// The number of log lines that were dropped.
    let droppedLogs: Int
    /// The size of the store on disk; nil without a store, or if it is not known.
    let storeBytes: Int?

    var text: MetricsText {
        var text = MetricsText(ferry: self.status.ferry)
        self.addFates(&text)
        self.addWays(&text)
        self.addUpstreams(&text)
        self.addProcess(&text)
        return text
    }

    // MARK: Notifications

    private func addFates(_ text: inout MetricsText) {
        let fates: [(String, String, KeyPath<FateCounts, Int>)] = [
            ("read_total", "Notifications that were read from old clients, faulty ones too.", \.read),
            (
                "recovered_total",
                "Notifications of an earlier process that the store had without an answer.",
                \.recovered
            ),
            ("retried_total", "Letters that an operator sent again.", \.retried),
            ("forwarded_total", "Notifications that went to APNs, each counted once.", \.forwarded),
            ("swallowed_total", "Copies of notifications that were read before.", \.swallowed),
            ("refused_here_total", "Notifications that the gateway refused itself.", \.refusedHere),
            (
                "known_bad_total",
                "Notifications that the gateway refused, because no error response told APNs' refusal of their token.",
                \.knownBad
            ),
            ("dropped_unsent_total", "Notifications that ended before they went out.", \.droppedUnsent),
            ("accepted_total", "Notifications that APNs accepted.", \.accepted),
            ("gone_total", "Notifications to devices that lost the app.", \.gone),
            ("rejected_total", "Notifications that APNs refused for good.", \.refused),
            ("expired_total", "Notifications whose expiration passed.", \.expired),
            ("dead_letters_total", "Notifications that were given up.", \.deadLetters),
            ("uncertain_total", "Notifications that may have arrived, and do not go out again.", \.unknown),
            (
                "moved_total",
                "Notifications without a final answer that went to another owner with their shard.",
                \.movedOrNone
            ),
            ("copies_total", "Notifications that may have arrived, and went out once more.", \.copies),
            ("error_responses_total", "Error responses that named a rejected notification.", \.told),
            ("deferred_total", "Rejections that the next push to the token may tell.", \.deferred),
            (
                "released_total",
                "Notifications that their client counts as accepted without an answer of APNs.",
                \.released
            ),
        ]
        let clients = self.clients
        func add(_ kind: MetricsText.Kind, _ name: String, _ help: String, _ value: (ClientSum) -> Int) {
            text.add(kind, "ferry_gateway_\(name)", help, clients.map { .init(value($0), $0.labels) })
        }
        for (name, help, count) in fates { add(.counter, name, help) { $0.counts[keyPath: count] } }
        add(.gauge, "waiting_notifications", "Notifications that wait and never went out.") { $0.counts.waiting }
        add(
            .gauge,
            "unanswered_notifications",
            "Notifications without a final answer, in memory and in the store."
        ) { $0.counts.unanswered }
        add(.gauge, "connections", "Open connections of old clients.") { $0.connections }
        add(.counter, "episodes_total", "Error responses after which a client may send copies.") { $0.episodes }
        add(.gauge, "feedback_rows", "Devices that wait for a reader of the feedback service.") { $0.feedbackRows }
        text.add(
            .gauge,
            "ferry_gateway_oldest_seconds",
            "The age of the oldest notification without a final answer; 0 if there is none.",
            [.init(self.figures.oldestAge ?? 0)]
        )
        text.add(
            .gauge,
            "ferry_gateway_list_waiting_lines",
            "Lines of the list of rejections that its file does not have yet.",
            self.figures.counts.unwritten
        )
        text.add(
            .counter,
            "ferry_gateway_list_lost_lines_total",
            "Lines of the list of rejections that were given up.",
            self.figures.counts.unlisted
        )
    }

    /// The figures of one client, or of all clients without series of their own.
    fileprivate struct ClientSum {
        var labels: Labels
        var counts = FateCounts()
        var connections = 0
        var episodes = 0
        var feedbackRows = 0
    }

    private var clients: [ClientSum] {
        var sums: [ClientSum] = []
        var others: [Int: ClientSum] = [:]
        var places: [[String]: Int] = [:]
        for (index, client) in self.figures.clients.enumerated() {
            let upstream = self.name(of: client.upstream)
            // A client with the name `other` is counted among the others, because two series with the same labels would
            // make the whole answer invalid.
            guard index >= Self.clientLimit || client.name == Self.otherClients else {
                // A client may have two identities with one upstream: its own, and one for a listener's upstream. A
                // reload causes this when it changes the client's own upstream to the listener's. Their figures are
                // added, because two series with the same labels would make the whole answer invalid.
                if let place = places[[client.name, upstream]] {
                    sums[place].add(client)
                    continue
                }
                places[[client.name, upstream]] = sums.count
                sums.append(
                    ClientSum(
                        labels: [("client", client.name), ("upstream", upstream)],
                        counts: client.counts,
                        connections: client.connections,
                        episodes: client.episodes,
                        feedbackRows: client.feedbackRows
                    )
                )
                continue
            }
            let labels = [("client", Self.otherClients), ("upstream", upstream)]
            others[client.upstream, default: ClientSum(labels: labels)].add(client)
        }
        return sums + others.sorted { $0.key < $1.key }.map(\.value)
    }

    private func name(of upstream: Int) -> String {
        self.upstreams.indices.contains(upstream) ? self.upstreams[upstream].name : "\(upstream)"
    }

    // MARK: Connections and times

    private func addWays(_ text: inout MetricsText) {
        text.add(
            .counter,
            "ferry_gateway_refused_connections_total",
            "Connections that were refused, by cause.",
            RefusalCause.allCases.map { .init(self.loop.refusals[$0, default: 0], [("cause", $0.rawValue)]) }
        )
        text.add(
            "ferry_gateway_answer_seconds",
            "From a notification that was read to APNs' answer to its first sending, with its wait for a turn and for a "
                + "connection. What is sent again, what an earlier process read and what waited for a refused topic does "
                + "not count: its age is that of the trouble.",
            self.figures.upstreams.enumerated().map { ([("upstream", self.name(of: $0))], $1.answers.times) }
        )
        text.add("ferry_gateway_turn_seconds", "The turns of the event loop.", [([], self.loop.turns)])
        if self.figures.store != nil {
            text.add(
                "ferry_gateway_commit_seconds",
                "From a commit to the store's answer.",
                [([], self.loop.commits)]
            )
            text.add(
                .gauge,
                "ferry_gateway_store_writable",
                "1 while the store takes commits.",
                self.figures.store == .good ? 1 : 0
            )
            text.add(
                .gauge,
                "ferry_gateway_store_taken",
                "1 if another gateway has taken the store.",
                self.figures.store == .taken ? 1 : 0
            )
        }
        if let bytes = self.storeBytes {
            text.add(.gauge, "ferry_gateway_store_bytes", "The size of the store on disk.", bytes)
        }
    }

    // MARK: Upstreams

    private func addUpstreams(_ text: inout MetricsText) {
        let named = self.upstreams.map { ($0.name, $0.watched) }
        func add(_ kind: MetricsText.Kind, _ name: String, _ help: String, _ value: (UpstreamWatch.Figures) -> Int) {
            text.add(
                kind,
                "ferry_gateway_upstream_\(name)",
                help,
                named.map { .init(value($0.1), [("upstream", $0.0)]) }
            )
        }
        text.add(
            .gauge,
            "ferry_gateway_upstream_usable",
            "0 while the upstream of a client cannot be reached, refuses the credentials or is in an outage.",
            self.upstreams.compactMap { upstream in
                upstream.isUsable.map { .init($0 ? 1 : 0, [("upstream", upstream.name)]) }
            }
        )
        text.add(
            .gauge,
            "ferry_gateway_upstream_state",
            "1 for the state of an upstream, 0 for the others.",
            self.status.upstreams.flatMap { upstream in
                GatewayStatus.Upstream.State.allCases.map {
                    .init(upstream.state == $0 ? 1 : 0, [("upstream", upstream.name), ("state", $0.rawValue)])
                }
            }
        )
        text.add(
            .gauge,
            "ferry_gateway_upstream_refused_topics",
            "Topics whose notifications wait, because they or their credentials are refused.",
            self.status.upstreams.map { .init($0.shutTopics.count, [("upstream", $0.name)]) }
        )
        text.add(
            .gauge,
            "ferry_gateway_upstream_credentials_refused",
            "1 while there is no connection, because the certificate or the key is refused.",
            self.upstreams.filter { $0.isUsable != nil }.map {
                .init($0.watched.refusesCredentials ? 1 : 0, [("upstream", $0.name)])
            }
        )
        add(.gauge, "connections", "Open connections to the upstream.") { $0.activity.standing.connections }
        add(.gauge, "requests", "Requests under way.") { $0.activity.standing.unsettled }
        add(.counter, "connections_opened_total", "Connections that were opened.") { $0.activity.connected }
        add(.counter, "connections_closed_total", "Open connections that ended.") { $0.activity.disconnected }
        add(.counter, "pings_sent_total", "PINGs that were sent.") { $0.activity.pings.sent }
        add(.counter, "pings_answered_total", "PINGs that were answered.") { $0.activity.pings.answered }
        add(
            .counter,
            "pings_unanswered_total",
            "PINGs without an answer in time, for which a connection was left."
        ) { $0.activity.pings.unanswered }
        text.add(
            "ferry_gateway_upstream_ping_seconds",
            "From a PING to its answer.",
            named.map { name, figures in ([("upstream", name)], figures.pingTimes) }
        )
        text.add(
            .gauge,
            "ferry_gateway_upstream_held_notifications",
            "Notifications that wait because their topic or its key is refused.",
            zip(self.upstreams, self.figures.upstreams).map { .init($1.held, [("upstream", $0.name)]) }
        )
        text.add(
            .counter,
            "ferry_gateway_upstream_failures_total",
            "Trouble with connections or credentials, by kind.",
            named.flatMap { name, figures in
                ProviderError.Code.all.map {
                    .init(figures.activity.failures[$0, default: 0], [("upstream", name), ("code", "\($0)")])
                }
            }
        )
        text.add(
            .counter,
            "ferry_gateway_refusals_total",
            "APNs' refusals by reason, with those that are sent again.",
            self.figures.upstreams.enumerated().flatMap { index, upstream in
                upstream.answers.refusals.sorted { $0.key.rawValue < $1.key.rawValue }.map { reason, count in
                    .init(count, [("upstream", self.name(of: index)), ("reason", reason.rawValue)])
                }
            }
        )
    }

    private func addProcess(_ text: inout MetricsText) {
        text.add(self.status.certificates, of: "gateway")
        text.add(
            .counter,
            "ferry_gateway_log_lines_dropped_total",
            "Lines that the log had no room for.",
            self.droppedLogs
        )
        text.add(
            .gauge,
            "ferry_gateway_changed_files",
            "Files of the configuration that changed on disk, and were not read again.",
            self.status.changedFiles.count
        )
        if let letters = self.figures.letters {
            text.add(.gauge, "ferry_gateway_letters", "Letters in the store.", letters.count)
            text.add(.gauge, "ferry_gateway_letters_bytes", "The size of the letters in the store.", letters.bytes)
            text.add(
                .counter,
                "ferry_gateway_letters_dropped_total",
                "Letters that went because there were too many.",
                letters.dropped
            )
            text.add(
                .counter,
                "ferry_gateway_letters_outdated_total",
                "Letters that went after 30 days.",
                letters.outdated
            )
        }
        if let process = ProcessFigures.current { text.add(process) }
    }
}

extension GatewayMetrics.ClientSum {
    fileprivate mutating func add(_ client: GatewayFigures.Client) {
        self.counts.add(client.counts)
        self.connections += client.connections
        self.episodes += client.episodes
        self.feedbackRows += client.feedbackRows
    }
}

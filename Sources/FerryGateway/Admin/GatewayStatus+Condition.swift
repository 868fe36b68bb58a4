internal import FerryAdmin

/// The judgement of a gateway: one sentence for each trouble, and the worst of them for the whole.
extension GatewayStatus {
    /// The status reports the oldest notification from this age on, in seconds, if all upstreams in use deliver. The
    /// age is short, because an operator who reads the status is awake. The alert FerryGatewayWaitsLong in
    /// Compat/monitoring/alerts.yml wakes an operator, so the alert waits for ``alertedWait``.
    static let longWait: Double = 60
    /// The age in the alert FerryGatewayWaitsLong, in seconds. The alert fires when the age has been larger for
    /// ``alertPatience``, in seconds.
    static let alertedWait: Double = 300
    static let alertPatience: Double = 300

    /// Judges the figures, and fills ``condition``, ``troubles``, ``ready`` and ``delivering``.
    package mutating func judge() {
        let down = self.clients.isEmpty ? [] : self.downSentences
        let troubles = self.troubleSentences(delivers: down.isEmpty)
        self.troubles = down.map { Condition(.down, $0) } + troubles.map { Condition(.trouble, $0) }
        self.condition = self.troubles.first ?? Condition(.well, self.wellSentence)
        self.ready = self.readiness
        self.delivering =
            down.first.map { Health(isGood: false, $0) } ?? Health(isGood: true, "Each client has a usable upstream.")
    }

    /// The judgement whether a load balancer should send clients here. A gateway with a store is ready even while APNs
    /// cannot be reached, because the store keeps the notifications.
    private var readiness: Health {
        switch self.store {
        case .good: return Health(isGood: true, "It listens, and the store can be written.")
        case .troubled: return Health(isGood: false, "The store cannot be written, so no new client is taken.")
        case .taken: return Health(isGood: false, "Another gateway has the store.")
        case .none:
            let judged = self.clients.isEmpty ? self.upstreams : self.upstreams.filter { self.isUsed($0) }
            return judged.contains { $0.isUsable }
                ? Health(isGood: true, "It listens, and an upstream can be used.")
                : Health(isGood: false, "No upstream can be used, and there is no store that would keep notifications.")
        }
    }

    /// Whether a client sends over the upstream, or notifications wait for the upstream. Trouble of any other upstream
    /// delays no notification.
    func isUsed(_ upstream: Upstream) -> Bool {
        upstream.held > 0 || self.clients.contains { $0.upstream == upstream.name }
    }

    private var downSentences: [String] {
        var sentences: [String] = []
        if self.store == .taken {
            sentences.append("Not delivering: another gateway has taken the store. Stop this one.")
        }
        for upstream in self.upstreams where self.isUsed(upstream) {
            let waiting = upstream.held + max(self.upstreams.count == 1 ? self.unanswered - upstream.held : 0, 0)
            switch upstream.state {
            case .failing:
                sentences.append(
                    upstream.failureSentence + StatusWords.waiting(waiting, isStored: self.store != .none)
                )
            case .outage:
                sentences.append(
                    "Not delivering to \(upstream.name): it answers everything with a fault of its own."
                        + StatusWords.waiting(waiting, isStored: self.store != .none)
                )
            case .untried, .good: break
            }
            // The last error of the upstream is left out, because it may concern another topic and another client.
            for topic in upstream.shutTopics {
                sentences.append(
                    "Not delivering: \(topic.cause)"
                        + StatusWords.waiting(topic.held, isStored: self.store != .none)
                )
            }
        }
        return sentences
    }

    /// - Parameter delivers: whether ``downSentences`` is empty. Those sentences already say that notifications wait,
    ///   and why.
    private func troubleSentences(delivers: Bool) -> [String] {
        var sentences: [String] = []
        if self.store == .troubled {
            sentences.append("The store cannot be written. Notifications wait, and no new client is taken.")
        }
        sentences += self.shardSentences
        if let listTrouble {
            sentences.append(
                "The list of rejections cannot be written: \(listTrouble). "
                    + "\(StatusWords.number(self.counts.unwritten, "line")) of it wait\(self.counts.unwritten == 1 ? "s" : "")."
            )
        }
        sentences += CertificateStatus.troubles(self.certificates, now: self.now, cure: "Replace it, and reload.")
        if let age = self.oldestAge, age >= Self.longWait, delivers {
            sentences.append("The oldest notification has waited for \(StatusWords.duration(age)).")
        }
        if let refusedReload { sentences.append("The last reload changed nothing: \(refusedReload.sentence)") }
        if !self.changedFiles.isEmpty {
            sentences.append(
                "\(self.changedFiles.joined(separator: ", ")) changed on disk, and \(self.changedFiles.count == 1 ? "was" : "were") "
                    + "not read again. Reload, if the change is whole."
            )
        }
        return sentences
    }

    private var shardSentences: [String] {
        func sentence(_ end: String, _ isMeant: (Shard) -> Bool) -> String? {
            let numbers = (self.shards ?? []).filter(isMeant).map { "\($0.shard)" }
            guard !numbers.isEmpty else { return nil }
            return "Shard\(numbers.count == 1 ? "" : "s") \(numbers.joined(separator: ", ")): \(end)"
        }
        return [
            sentence("no gateway has the lock, so clients wait.") { $0.owner == nil },
            sentence("PostgreSQL does not answer, so nothing is delivered.") { $0.rightSeconds == 0 },
        ]
        .compactMap { $0 }
    }

    private var wellSentence: String {
        guard self.counts.read + self.counts.recovered > 0 else {
            return "Ready: nothing has come yet. \(StatusWords.number(self.clients.count, "client")) may connect."
        }
        guard self.rate.read >= 0.05 else {
            return "Ready: nothing comes at the moment, and nothing waits for long."
        }
        return
            "Delivering: \(StatusWords.rate(self.rate.read)) come in, and \(StatusWords.rate(self.rate.accepted)) are accepted."
    }
}

extension GatewayStatus.Upstream {
    /// Whether notifications can go out over the upstream.
    package var isUsable: Bool {
        switch self.state {
        case .untried, .good: true
        case .failing, .outage: false
        }
    }

    /// The sentence that there is no connection to the upstream, with the cause.
    fileprivate var failureSentence: String {
        let begin = "Not delivering to \(self.name)"
        guard let cause = self.lastError?.sentence else {
            return "\(begin): there is no connection to \(self.address)."
        }
        // A cause that names the address already says that there is no connection: "No connection to localhost:2197:
        // Connection refused."
        return cause.contains(self.address)
            ? "\(begin). \(cause)"
            : "\(begin): there is no connection to \(self.address): \(cause)"
    }
}

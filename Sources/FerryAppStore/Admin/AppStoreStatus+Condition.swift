internal import FerryAdmin

/// The judgement of a receiver: a short text for each of ``troubles``. The first trouble is the ``condition`` of the
/// whole. Without a trouble, the condition is `well`.
extension AppStoreStatus {
    /// The age from which the oldest waiting notification is one of ``troubles``, in seconds. This trouble is left
    /// out while the receiver cannot take or deliver notifications.
    private static let oldAge = 60.0
    /// The time for which a failed delivery makes a receiver without a store not ``ready``, in seconds. After this
    /// time, the receiver must be ready again: only a post makes the next attempt, and a balancer sends posts only to
    /// a ready receiver.
    private static let failurePeriod = 60

    /// Judges the figures, and fills ``condition``, ``troubles``, ``ready`` and ``delivering``.
    package mutating func judge() {
        let taking = self.takingFault()
        let delivering = self.deliveryFaults
        let down = (taking.map { ["Not taking notifications: \($0) Apple comes again."] } ?? []) + delivering
        let troubles = self.troubleSentences(delivers: down.isEmpty)
        self.troubles = down.map { Condition(.down, $0) } + troubles.map { Condition(.trouble, $0) }
        self.condition = self.troubles.first ?? Condition(.well, self.wellSentence)
        self.ready =
            self.takingFault(since: self.now - Self.failurePeriod)
            .map { Health(isGood: false, "Not taking notifications: \($0)") }
            ?? Health(isGood: true, self.readySentence)
        self.delivering = delivering.first.map { Health(isGood: false, $0) } ?? Health(isGood: true, self.goodDelivery)
    }

    /// Returns the reason why no notification can be taken; nil if notifications can be taken. A receiver with a store
    /// still takes notifications while its destinations fail. So it must stay ready.
    ///
    /// - Parameter start: the time before which a failed delivery of a receiver without a store does not count, in UNIX
    ///   seconds.
    private func takingFault(since start: Int = .min) -> String? {
        switch self.store {
        case .good: nil
        case .troubled: "the store cannot be written: \(Self.sentence(self.storeTrouble))"
        case .silent: "the store does not answer."
        case .none:
            self.destinations.first { $0.state == .failing && $0.lastFailure?.at ?? start >= start }.map {
                "\($0.name) does not take them, and there is no store: \(Self.sentence($0.lastFailure?.sentence))"
            }
        }
    }

    private var deliveryFaults: [String] {
        // Without a store, a notification is taken only when it is delivered.
        guard self.store != .none else { return [] }
        return self.destinations.filter { $0.state == .failing }.map {
            "Not delivering to \($0.name): \(Self.sentence($0.lastFailure?.sentence))"
                + StatusWords.waiting($0.waiting, isStored: true)
        }
    }

    private func troubleSentences(delivers: Bool) -> [String] {
        var sentences: [String] = []
        for destination in self.destinations where destination.setAside > 0 {
            sentences.append(
                "\(StatusWords.number(destination.setAside, "notification")) for \(destination.name) "
                    + "\(destination.setAside == 1 ? "was" : "were") given up. 'ferry appstore redeliver --dead' tries again."
            )
        }
        if self.unsent > 0 {
            sentences.append(
                "\(StatusWords.number(self.unsent, "notification")) \(self.unsent == 1 ? "waits" : "wait") for a URL that is "
                    + "not named any more. 'ferry appstore redeliver --unsent' delivers to the URLs of now."
            )
        }
        if let count = self.refusals[PostFigures.Cause.notUnderstood.rawValue], count > 0 {
            sentences.append(
                "\(StatusWords.number(count, "genuine post")) had a form that this version does not know. Update Ferry."
            )
        }
        sentences += CertificateStatus.troubles(self.certificates, now: self.now, cure: "Replace it, and restart.")
        if let age = self.oldestAge, age >= Self.oldAge, delivers {
            sentences.append("The oldest notification has waited for \(StatusWords.duration(age)).")
        }
        return sentences
    }

    private var readySentence: String {
        self.store == .none ? "It listens." : "It listens, and the store can be written."
    }

    private var goodDelivery: String {
        self.destinations.isEmpty ? "Nothing is forwarded: the store keeps it." : "Each destination takes what it gets."
    }

    private var wellSentence: String {
        guard self.posts.posts > 0 else { return "Ready: nothing has come yet." }
        guard self.rate.read > 0 else { return "Ready: nothing comes at the moment, and nothing waits for long." }
        return
            "Receiving: \(StatusWords.rate(self.rate.read)) come in, and \(StatusWords.rate(self.rate.accepted)) are taken."
    }

    /// Returns a reason as the end of a sentence.
    private static func sentence(_ reason: String?) -> String {
        guard let reason, !reason.isEmpty else { return "the reason is not known." }
        return reason.hasSuffix(".") ? reason : "\(reason)."
    }
}

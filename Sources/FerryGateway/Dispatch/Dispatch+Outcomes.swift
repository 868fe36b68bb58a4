internal import FerryCore
internal import FerryMachine
internal import HeapModule
internal import NIOCore

/// The outcomes of notifications. A final answer ends the job. After any other outcome the job is sent again or held.
extension Dispatch {
    /// Takes an outcome. Returns nil if the job had ended before, or does not end now.
    ///
    /// - Parameter mayHear: whether an error response may be useful to the client.
    mutating func settle(_ id: JobID, _ outcome: Outcome, mayHear: Bool, now: Moment) -> Settled? {
        guard let job = self.jobs[id] else { return nil }
        let route = job.route
        // The answer is stale if a reload gave the flow another route, or removed the flow, after the notification
        // went out. The old route's answer says nothing about the new route.
        let isStale = self.flows[job.flow].route != route || !self.flows[job.flow].isActive
        if let reason = outcome.reason { self.jobs.change(id) { $0.lastReason = reason } }
        let upstream = self.routes.upstream(of: route)
        // The time of a repeated job does not show how fast the way to APNs is, because this time includes the failed
        // attempts.
        let time: TimeAmount? = job.isTimed && job.attempts == 1 ? now.monotonic - job.readAt : nil
        self.verdicts.answered(outcome, by: upstream, after: time, now: now.monotonic)
        let outage = self.routes.watch(upstream, job, outcome, now: now.monotonic)
        if let outage { self.verdicts.events.append(outage) }
        self.returned(job, id, Verdict(of: outcome), now: now)
        let answer = Answer(to: outcome)
        if isStale, answer.refusesToken, !self.routes.isWarm(route) {
            // The gate of the old route is not warm. So the old host or credential may be wrong, and the token may be
            // good. The notification tries the new route.
            self.send(id, now: now)
            return nil
        }
        switch answer {
        case .accepted:
            self.verdicts.count(job.scope.identity) { $0.accepted += 1 }
            self.accepted(job, route, now: now)
            if !self.verdicts.feedback.isEmpty {
                self.verdicts.feedback.remove(job.token, of: job.scope.identity)
            }
            return self.end(id, job, .accepted)
        case .gone(let since):
            self.verdicts.count(job.scope.identity) { $0.gone += 1 }
            self.accepted(job, route, now: now)
            let row = FeedbackRows.Row(token: Array(job.token), since: since ?? now.epochSeconds)
            self.verdicts.gone(
                row,
                of: job.scope.identity,
                topic: self.routes.topicName(of: route),
                in: job.storedSegment,
                of: id
            )
            var settled = self.end(id, job, .accepted)
            settled.isGone = true
            return settled
        case .refused(let status):
            return self.refuse(id, job, route, outcome, status, mayHear: mayHear, isStale: isStale, now: now)
        case .tryOtherTopic:
            let flows = self.active[job.scope.identity]
            guard let place = flows.firstIndex(of: job.flow) else {
                // A reload has removed the job's topic.
                self.send(id, now: now)
                return nil
            }
            let next = flows[(place + 1) % flows.count]
            guard next != job.firstFlow else {
                return self.refuse(id, job, route, outcome, .invalidToken, mayHear: mayHear, isStale: isStale, now: now)
            }
            self.jobs.change(id) { $0.flow = next }
            self.avoid(job, next, now: now)
            self.send(id, now: now)
            return nil
        case .retry(let retry):
            return self.retry(id, job, retry, outcome, now: now)
        case .blocked where isStale && !self.isOver(job, now: now):
            self.send(id, now: now)
            return nil
        case .blocked:
            if !isStale, self.routes.blocked(route, outcome.reason, now: now.monotonic) {
                self.shut(route, outcome.reason, now: now)
            }
            guard !self.isOver(job, now: now) else { return self.bury(id, job, outcome, now: now.epochSeconds) }
            self.hold(id, flow: job.flow)
            return nil
        case .deadLetter:
            return self.bury(id, job, outcome, now: now.epochSeconds)
        case .expired:
            return self.listExpired(id, job)
        case .unknown:
            return self.doubt(id, job, outcome, now: now)
        }
    }

    // MARK: Gates

    /// Notes that APNs knows the token and the topic.
    private mutating func accepted(_ job: borrowing Job, _ route: Int, now: Moment) {
        if let waiting = self.routes.accepted(route, now: now.epochSeconds) {
            let upstream = self.routes.upstream(of: route)
            self.verdicts.events.append(.allClear(upstream: upstream, topic: self.routes.topicName(of: route)))
            for id in waiting { self.send(id, now: now) }
        }
        let identity = job.scope.identity
        guard self.identities[identity].routes.count > 1 else { return }
        self.tokenTopics.remember(job.flow, for: .init(identity: identity, token: Array(job.token)))
        if self.flows[job.flow].isActive { self.took(job.flow, of: identity, now: now) }
    }

    /// Calls ``takeBack(_:now:)`` for a route whose gate has shut, and reports the alarm.
    private mutating func shut(_ route: Int, _ reason: Reason?, now: Moment) {
        self.takeBack(route, now: now)
        let upstream = self.routes.upstream(of: route)
        self.verdicts.events.append(.alarm(upstream: upstream, topic: self.routes.topicName(of: route), reason))
    }

    // MARK: Refusals

    private mutating func refuse(
        _ id: JobID,
        _ job: borrowing Job,
        _ route: Int,
        _ outcome: Outcome,
        _ status: BinaryStatus,
        mayHear: Bool,
        isStale: Bool,
        now: Moment
    ) -> Settled {
        self.verdicts.count(job.scope.identity) { $0.refused += 1 }
        let isToken = status == .invalidToken
        if isToken, !isStale, self.routes.refusedToken(route, now: now.monotonic) {
            self.shut(route, .badDeviceToken, now: now)
        }
        // While the gate is not warm, the environment may be wrong. Status 8 would then make the client delete good
        // tokens.
        let isTold = !isToken || self.routes.isWarm(route)
        let refusal = GatewayEvent.Refusal(
            identity: job.scope.identity,
            token: Array(job.token),
            reason: outcome.reason ?? .unknown,
            status: isTold && mayHear && job.isNamed ? status : nil,
            apnsID: self.jobs.apnsID(of: id)
        )
        // A stale refusal marks no token as bad: the token may be good with the new host or credential.
        self.verdicts.list(.refused(refusal), in: job.storedSegment, of: id)
        if !isStale { self.keep(id, refusal, status) }
        guard isTold else {
            self.verdicts.deferRejection(of: id, client: job.scope.identity)
            return self.end(id, job, .accepted)
        }
        return self.end(id, job, .rejected(status))
    }

    /// Notes a notification that the gateway itself refused.
    ///
    /// - Parameters:
    ///   - reason: the reason of the refusal; nil for the reason that the status stands for.
    ///   - isTellable: whether an error response can tell the refusal.
    mutating func refuse(
        _ identity: Int,
        token: [UInt8]?,
        _ status: BinaryStatus,
        _ reason: Reason? = nil,
        isTellable: Bool,
        as id: JobID?
    ) {
        self.verdicts.count(identity) { $0.refusedHere += 1 }
        let refusal = GatewayEvent.Refusal(
            identity: identity,
            token: token,
            reason: reason ?? Reason(binaryStatus: status.rawValue),
            status: isTellable ? status : nil
        )
        self.verdicts.list(.refused(refusal), in: nil, of: id)
        if let id { self.keep(id, refusal, status) }
    }

    /// Refuses a notification to a known bad token, and forgets the token. If no error response names this refusal, the
    /// token becomes known bad again.
    mutating func refuseKnownBad(
        _ identity: Int,
        token: [UInt8],
        _ status: BinaryStatus,
        isTellable: Bool,
        as id: JobID
    ) {
        self.verdicts.count(identity) { $0.knownBad += 1 }
        if let route = self.identities[identity].routes.first { self.verdicts.forgetKnownBad(token, route: route) }
        let refusal = GatewayEvent.Refusal(
            identity: identity,
            token: token,
            reason: Reason(binaryStatus: status.rawValue),
            status: isTellable ? status : nil
        )
        self.verdicts.list(.refused(refusal), in: nil, of: id)
        self.keep(id, refusal, status)
    }

    private mutating func keep(_ id: JobID, _ refusal: GatewayEvent.Refusal, _ status: BinaryStatus) {
        if let token = refusal.token { self.keep(id, token, status, of: refusal.identity) }
    }

    /// Keeps the token of a rejection with status 8. If no error response names the rejection, the token becomes known
    /// bad.
    mutating func keep(_ id: JobID, _ token: [UInt8], _ status: BinaryStatus, of identity: Int) {
        // The other statuses say nothing about the next push to the token.
        guard status == .invalidToken, let route = self.identities[identity].routes.first else { return }
        self.verdicts.keep(id, .init(route: route, token: token), status)
    }

    // MARK: Copies and expired notifications

    private mutating func retry(
        _ id: JobID,
        _ job: borrowing Job,
        _ retry: Answer.Retry,
        _ outcome: Outcome,
        now: Moment
    ) -> Settled? {
        if let end = self.expire(id, job, now: now) { return end }
        guard !self.isOver(job, now: now) else { return self.bury(id, job, outcome, now: now.epochSeconds) }
        let (first, last) =
            switch retry {
            case .later: (GatewayBounds.Jobs.firstRetry, GatewayBounds.Jobs.lastRetry)
            case .deviceIsBusy: (GatewayBounds.Jobs.firstBusyRetry, GatewayBounds.Jobs.lastBusyRetry)
            }
        let pause = min(TimeAmount.nanoseconds(first.nanoseconds << min(job.attempts - 1, 16)), last)
        self.delayed.insert(Due(at: now.monotonic + pause, job: id))
        self.jobs.change(id) { $0.wait = .pause }
        return nil
    }

    /// Lists a notification that may have arrived. If the configuration of its client says so, the notification is sent
    /// once more, by this or another process. After a second uncertain outcome, the notification becomes a dead letter.
    private mutating func doubt(_ id: JobID, _ job: borrowing Job, _ outcome: Outcome, now: Moment) -> Settled? {
        guard job.doubts < GatewayBounds.Jobs.unknownCopies else {
            return self.bury(id, job, outcome, now: now.epochSeconds)
        }
        var isRepeated = self.identities[job.scope.identity].repeatsUnknown
        // Without a store, no process sends the notification again after the end of this process.
        if case .abandoned(isKept: false) = self.stage { isRepeated = false }
        self.verdicts.list(
            .uncertain(self.item(id, job), again: isRepeated),
            in: job.storedSegment,
            of: isRepeated ? nil : id
        )
        guard isRepeated else {
            self.verdicts.count(job.scope.identity) { $0.unknown += 1 }
            self.keep(id, job, job.lastReason ?? .unknown, mayHaveArrived: true, now: now.epochSeconds)
            return self.end(id, job, .accepted)
        }
        self.jobs.change(id) { $0.doubts += 1 }
        self.avoidConnection(of: job, id, outcome, now: now)
        self.verdicts.count(job.scope.identity) { $0.copies += 1 }
        self.doubted.append(id)
        self.send(id, now: now)
        return nil
    }

    /// Ends and lists a notification if its expiration has passed; otherwise returns nil.
    mutating func expire(_ id: JobID, _ job: borrowing Job, now: Moment) -> Settled? {
        guard job.expiration > 0, job.expiration <= now.epochSeconds else { return nil }
        return self.listExpired(id, job)
    }

    private mutating func listExpired(_ id: JobID, _ job: borrowing Job) -> Settled {
        self.verdicts.expired(self.item(id, job), wasSent: job.attempts > 0, in: job.storedSegment, of: id)
        return self.end(id, job, .accepted)
    }

    private func isOver(_ job: borrowing Job, now: Moment) -> Bool {
        job.expiration == 0 && now.monotonic - job.readAt > GatewayBounds.Jobs.lifetime
    }

    /// Gives a notification up as a dead letter.
    ///
    /// - Parameter now: in UNIX seconds; 0 at the end of the process, where the letter is dropped.
    mutating func bury(_ id: JobID, _ job: borrowing Job, _ outcome: Outcome, now: UInt32) -> Settled {
        let refusal = GatewayEvent.Refusal(
            identity: job.scope.identity,
            token: Array(job.token),
            reason: outcome.reason ?? job.lastReason ?? .unknown,
            apnsID: self.jobs.apnsID(of: id)
        )
        self.verdicts.buried(refusal, wasSent: job.attempts > 0, in: job.storedSegment, of: id)
        let isDoubtful = if case .uncertain = outcome { true } else { job.doubts > 0 || job.mayHaveArrived }
        self.keep(id, job, refusal.reason, mayHaveArrived: isDoubtful, now: now)
        return self.end(id, job, .accepted)
    }

    /// Makes the letter of a job that ends, if there is a store.
    private mutating func keep(
        _ id: JobID,
        _ job: borrowing Job,
        _ reason: Reason,
        mayHaveArrived: Bool,
        now: UInt32
    ) {
        guard self.keepsLetters else { return }
        let letter = Letter(
            job,
            self.jobs.apnsID(of: id),
            client: self.identities[job.scope.identity].storeName,
            topic: self.routes.topicName(of: self.flows[job.flow].route),
            reason: reason,
            mayHaveArrived: mayHaveArrived,
            now: now
        )
        self.letters.append(letter)
    }

    private func item(_ id: JobID, _ job: borrowing Job) -> GatewayEvent.Item {
        GatewayEvent.Item(
            identity: job.scope.identity,
            token: Array(job.token),
            topic: self.routes.topicName(of: self.flows[job.flow].route),
            apnsID: self.jobs.apnsID(of: id)
        )
    }

    private mutating func end(_ id: JobID, _ job: borrowing Job, _ fate: JobFate) -> Settled {
        self.jobs.remove(id, job)
        let client = job.scope.identity
        if self.jobs.count(of: client) == 0, !self.identities[client].isConfigured { self.endAlarms() }
        return Settled(fate: fate, first: job.first, joined: job.joined, segment: job.segment)
    }
}

extension Answer {
    /// Whether APNs refused the token, which may belong to another host or topic.
    fileprivate var refusesToken: Bool {
        switch self {
        case .refused(.invalidToken), .tryOtherTopic: true
        default: false
        }
    }
}

extension Outcome {
    /// The reason of a rejection; nil for every other outcome.
    fileprivate var reason: Reason? { if case .rejected(let rejection) = self { rejection.reason } else { nil } }
}

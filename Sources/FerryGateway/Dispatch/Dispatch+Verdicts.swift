internal import DequeModule
internal import FerryCore
internal import FerryMachine
internal import HeapModule
internal import NIOCore

/// The ends of notifications that APNs did not accept, and the lists that name them.
extension Dispatch {
    // MARK: Refusals

    mutating func refuse(
        _ id: JobID,
        _ job: borrowing Job,
        _ route: Int,
        _ outcome: Outcome,
        _ status: BinaryStatus,
        mayHear: Bool,
        now: Moment
    ) -> Settled {
        self.counts.refused += 1
        let isToken = status == .invalidToken
        if isToken, self.routes[route].gate.refusedToken(now: now.monotonic) {
            self.shut(route, .badDeviceToken, now: now)
        }
        // While nothing was accepted, a refused token may be the sign of a wrong environment: the client must not hear.
        let isTold = !isToken || self.routes[route].gate.isWarm
        let identity = job.scope.identity
        self.list(
            identity,
            Array(job.token),
            outcome.reason ?? .unknown,
            isTold && mayHear && job.isNamed ? status : nil,
            apnsID: self.apnsID(of: id)
        )
        self.remember(id, identity, Array(job.token), status)
        guard isTold else {
            self.deferRejection(of: id)
            return self.end(id, job, .accepted)
        }
        return self.end(id, job, .rejected(status))
    }

    /// Notes a notification that the gateway refused itself.
    ///
    /// - Parameters:
    ///   - reason: nil: the one that the status stands for.
    ///   - isTellable: whether an error response can tell its refusal.
    mutating func refuse(
        _ identity: Int,
        token: [UInt8]?,
        _ status: BinaryStatus,
        _ reason: Reason? = nil,
        isTellable: Bool,
        as id: JobID?
    ) {
        self.counts.refusedHere += 1
        let reason = reason ?? Reason(binaryStatus: status.rawValue)
        self.list(identity, token, reason, isTellable ? status : nil, apnsID: nil)
        if let id, let token { self.remember(id, identity, token, status) }
    }

    /// Notes a notification to a token whose refusal was not told.
    mutating func refuseKnownBad(
        _ identity: Int,
        token: [UInt8],
        _ status: BinaryStatus,
        isTellable: Bool,
        as id: JobID
    ) {
        self.counts.knownBad += 1
        if let route = self.identities[identity].routes.first {
            self.knownBad.remove(.init(route: route, token: token))
        }
        self.list(identity, token, Reason(binaryStatus: status.rawValue), isTellable ? status : nil, apnsID: nil)
        self.remember(id, identity, token, status)
    }

    /// Notes that no error response will tell this rejection: the next push to the token may.
    mutating func deferRejection(of id: JobID?) {
        self.counts.deferred += 1
        guard let id, let rejected = self.rejected.removeValue(forKey: id) else { return }
        self.knownBad.insert(rejected.key, rejected.status)
    }

    mutating func remember(_ id: JobID, _ identity: Int, _ token: [UInt8], _ status: BinaryStatus) {
        // Only a refused token says something about the next push to it.
        guard status == .invalidToken, let route = self.identities[identity].routes.first else { return }
        self.rejected[id] = Rejected(key: .init(route: route, token: token), status: status)
        self.rejectedOrder.append(id)
        guard self.rejectedOrder.count > GatewayBounds.Jobs.rejections, let oldest = self.rejectedOrder.popFirst() else {
            return
        }
        self.rejected[oldest] = nil
    }

    private mutating func list(
        _ identity: Int,
        _ token: [UInt8]?,
        _ reason: Reason,
        _ status: BinaryStatus?,
        apnsID: APNSID?
    ) {
        self.events.append(
            .refused(.init(identity: identity, token: token, reason: reason, status: status, apnsID: apnsID))
        )
    }

    // MARK: What goes out again, and what does not

    mutating func retry(
        _ id: JobID,
        _ job: borrowing Job,
        _ retry: Answer.Retry,
        _ outcome: Outcome,
        now: Moment
    ) -> Settled? {
        if let end = self.expire(id, job, now: now) { return end }
        guard !self.isOver(job, now: now) else { return self.bury(id, job, outcome) }
        let (first, last) =
            switch retry {
            case .later: (GatewayBounds.Jobs.firstRetry, GatewayBounds.Jobs.lastRetry)
            case .deviceIsBusy: (GatewayBounds.Jobs.firstBusyRetry, GatewayBounds.Jobs.lastBusyRetry)
            }
        let pause = min(TimeAmount.nanoseconds(first.nanoseconds << min(job.attempts - 1, 16)), last)
        self.delayed.insert(Due(at: now.monotonic + pause, job: id))
        return nil
    }

    /// Takes a notification that may have arrived: it stands in the list, and goes out once more if its client wants that.
    /// The second time it is a dead letter.
    mutating func doubt(_ id: JobID, _ job: borrowing Job, _ outcome: Outcome, now: Moment) -> Settled? {
        guard job.doubts < GatewayBounds.Jobs.unknownCopies else { return self.bury(id, job, outcome) }
        var isRepeated = self.identities[job.scope.identity].repeatsUnknown
        // Nothing would send it again.
        if case .abandoned(isKept: false) = self.stage { isRepeated = false }
        self.events.append(.uncertain(self.item(id, job), again: isRepeated))
        guard isRepeated else {
            self.counts.unknown += 1
            return self.end(id, job, .accepted)
        }
        self.jobs.change(id) { $0.doubts += 1 }
        self.avoidConnection(of: job, id, outcome, now: now)
        self.counts.copies += 1
        self.doubted.append(id)
        self.send(id, now: now)
        return nil
    }

    /// Drops a notification whose expiration passed here; nil: it has not.
    mutating func expire(_ id: JobID, _ job: borrowing Job, now: Moment) -> Settled? {
        guard job.expiration > 0, job.expiration <= now.epochSeconds else { return nil }
        return self.listExpired(id, job)
    }

    mutating func listExpired(_ id: JobID, _ job: borrowing Job) -> Settled {
        self.counts.expired += 1
        if job.attempts == 0 { self.dropUnsent() }
        self.events.append(.expired(self.item(id, job)))
        return self.end(id, job, .accepted)
    }

    func isOver(_ job: borrowing Job, now: Moment) -> Bool {
        job.expiration == 0 && now.monotonic - job.readAt > GatewayBounds.Jobs.lifetime
    }

    mutating func bury(_ id: JobID, _ job: borrowing Job, _ outcome: Outcome) -> Settled {
        self.counts.deadLetters += 1
        if job.attempts == 0 { self.dropUnsent() }
        self.events.append(
            .deadLetter(
                .init(
                    identity: job.scope.identity,
                    token: Array(job.token),
                    reason: outcome.reason ?? job.lastReason ?? .unknown,
                    status: nil,
                    apnsID: self.apnsID(of: id)
                )
            )
        )
        return self.end(id, job, .accepted)
    }

    private mutating func dropUnsent() {
        self.counts.waiting -= 1
        self.counts.droppedUnsent += 1
    }

    private func item(_ id: JobID, _ job: borrowing Job) -> GatewayEvent.Item {
        let topic = self.routes[self.flows[self.flow(of: job)].route].topic
        return GatewayEvent.Item(
            identity: job.scope.identity,
            token: Array(job.token),
            topic: String(decoding: topic, as: UTF8.self),
            apnsID: self.apnsID(of: id)
        )
    }
}

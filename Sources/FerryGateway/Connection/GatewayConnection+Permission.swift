internal import FerryBinary
internal import FerryCore
internal import NIOCore

extension GatewayConnection {
    /// Returns the error response of a last word; nil if the error response must not be written at this time.
    func response(to candidate: Candidate, _ standing: ReplayFilter.Standing, now: NIODeadline) -> ErrorResponse? {
        switch candidate.word {
        case .rejection(let rejection) where rejection.isProbe:
            // A client that has sent a probe waits for this response, and sends nothing meanwhile that could be
            // delivered twice.
            guard now < candidate.knownAt + GatewayBounds.age, let identifier = self.unique(rejection.identifier)
            else { return nil }
            return ErrorResponse(status: rejection.status, identifier: identifier)
        case .rejection(let rejection):
            guard now < rejection.readAt + GatewayBounds.age, !standing.isAmplified,
                self.ledger.followerCount(of: rejection.sequence) <= standing.replayClass.followerLimit,
                let identifier = self.name(rejection.identifier, standing, isAlone: self.isAlone(standing))
            else { return nil }
            return ErrorResponse(status: rejection.status, identifier: identifier)
        case .shutdown(let accepted):
            guard now < self.pace.heardAt + GatewayBounds.forgetsLast,
                let identifier = self.name(accepted.identifier, standing, isAlone: false)
            else { return nil }
            return ErrorResponse(status: .shutdown, identifier: identifier)
        }
    }

    /// Returns the identifier if the client can safely find the named notification by it; otherwise nil.
    ///
    /// Some clients give all their notifications one identifier. Such a client would find its first notification, and
    /// repeat everything after it. So at least one of these must hold:
    /// * This connection had two different identifiers.
    /// * The client is known to use different identifiers, and never to repeat one on a connection.
    /// * The client is known to open a connection for each notification, and this connection had only one. This does
    ///   not count for status 10.
    ///
    /// The identifier must also be unique on this connection. For a client of class ``ReplayClass/never``, the result
    /// is nil.
    private func name(_ identifier: UInt32?, _ standing: ReplayFilter.Standing, isAlone: Bool) -> UInt32? {
        guard self.numbersPushes || standing.numbering == .all || isAlone, standing.replayClass != .never else {
            return nil
        }
        return self.unique(identifier)
    }

    /// Whether the bytes after a last word are discarded. They are discarded at a handover if the client is known to
    /// re-send, and its cache is larger than the number of notifications on the way. The client then sends these
    /// notifications to the new owner. If this process read them, too, they would arrive twice.
    func leavesRest(_ standing: ReplayFilter.Standing, now: NIODeadline) -> Bool {
        guard self.stop?.handsOver ?? false, case .resends(let reach) = standing.replayClass else { return false }
        let span = GatewayBounds.provenCalm + self.roundTrip + self.roundTrip
        return self.pace.isBelow(max(GatewayBounds.calmFrames, reach.proven / 2), within: span) <= now
    }

    private func isAlone(_ standing: ReplayFilter.Standing) -> Bool { standing.isSingle && self.ledger.next == 1 }

    /// Whether only one proof is missing for the error response: that the client opens a connection for each
    /// notification. Such a client has perhaps not ended any connection yet, because each of its first connections
    /// waits for an error response.
    func mayBecomeAlone(_ candidate: Candidate, _ standing: ReplayFilter.Standing, now: NIODeadline) -> Bool {
        guard self.mayBecomeAlone(candidate, standing) else { return false }
        var known = standing
        known.isSingle = true
        return self.response(to: candidate, known, now: now) != nil
    }

    private func mayBecomeAlone(_ candidate: Candidate, _ standing: ReplayFilter.Standing) -> Bool {
        guard case .rejection(let rejection) = candidate.word, !rejection.isProbe else { return false }
        return standing.mayBeSingle && self.ledger.next == 1
    }

    private func unique(_ identifier: UInt32?) -> UInt32? {
        identifier.flatMap { self.ledger.isUnique($0) ? $0 : nil }
    }

    /// When the client will be calm if no more bytes come. A client that still writes may close when it reads the six
    /// bytes, and the reset would destroy bytes that the gateway has not read. While the gateway does not read,
    /// silence says nothing about the client, so the time is never. The time is also never for the only notification
    /// of a connection if no trait of the client is known, and the notification is no probe. Status 10 does not wait
    /// for a calm client.
    func calmAt(_ candidate: Candidate, _ standing: ReplayFilter.Standing) -> NIODeadline {
        guard case .rejection = candidate.word else { return .distantPast }
        guard self.isReading, !self.mayBecomeAlone(candidate, standing) else { return .distantFuture }
        if self.isAlone(standing) { return self.pace.heardAt + GatewayBounds.singleCalm }
        let twoRoundTrips = self.roundTrip + self.roundTrip
        if case .resends(let reach) = standing.replayClass {
            let span = GatewayBounds.provenCalm + twoRoundTrips
            let limit = max(GatewayBounds.calmFrames, reach.proven / 2)
            return max(self.pace.isBelow(limit, within: span), self.resumedAt + span)
        }
        let span = GatewayBounds.unknownCalm + twoRoundTrips
        let steadyAt = max(
            self.openedAt + GatewayBounds.steadyAge,
            self.pace.isBelow(GatewayBounds.calmFrames, within: span)
        )
        return max(min(self.pace.heardAt + span, steadyAt), self.resumedAt + span)
    }
}

extension ReplayClass {
    /// The number of followers above which the client has forgotten the named notification; `Int.max` if the number
    /// is not known.
    fileprivate var followerLimit: Int {
        if case .resends(let reach) = self { reach.limit ?? .max } else { .max }
    }
}

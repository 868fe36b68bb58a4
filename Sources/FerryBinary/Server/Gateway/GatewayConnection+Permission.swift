internal import FerryCore
internal import NIOCore

extension GatewayConnection {
    /// Whether a last word may be written at all, at this time. If not, it never may be.
    func isAllowed(_ candidate: Candidate, _ standing: ReplayFilter.Standing, now: NIODeadline) -> Bool {
        switch candidate.word {
        case .rejection(let rejection) where rejection.isProbe:
            // The client waits for this response, and has no notification after it that could be doubled.
            self.names(rejection.identifier) && now < candidate.knownAt + GatewayBounds.age
        case .rejection(let rejection):
            now < rejection.readAt + GatewayBounds.age && !standing.isAmplified
                && self.mayName(rejection.identifier, standing)
                && self.ledger.followerCount(of: rejection.sequence) <= standing.replayClass.followerLimit
        case .shutdown(let accepted):
            self.mayName(accepted.identifier, standing) && now < self.pace.heardAt + GatewayBounds.idle
        }
    }

    /// Whether the client can tell by the identifier which of its notifications is meant, and may act on it.
    private func mayName(_ identifier: UInt32?, _ standing: ReplayFilter.Standing) -> Bool {
        // A client that gives all its notifications one identifier would find the first of them, and send again
        // everything since then.
        self.names(identifier) && (standing.numbersPushes || self.numbersPushes) && standing.replayClass != .never
    }

    private func names(_ identifier: UInt32?) -> Bool {
        identifier.map { self.ledger.isUnique($0) } ?? false
    }

    /// When the client will be calm, if no more bytes come. Six bytes that go into a flow may meet a client that has
    /// gone, or that closes when it reads them: the reset would destroy what it has written and the gateway has not
    /// read.
    func calmAt(_ candidate: Candidate, _ standing: ReplayFilter.Standing) -> NIODeadline {
        guard case .rejection = candidate.word else { return .distantPast }
        let twoRoundTrips = self.roundTrip + self.roundTrip
        if case .resends(let reach) = standing.replayClass {
            return self.pace.isBelow(
                max(GatewayBounds.calmFrames, reach.proven / 2),
                within: GatewayBounds.provenCalm + twoRoundTrips
            )
        }
        let span = GatewayBounds.unknownCalm + twoRoundTrips
        let steadyAt = max(
            self.openedAt + GatewayBounds.steadyAge,
            self.pace.isBelow(GatewayBounds.calmFrames, within: span)
        )
        return min(self.pace.heardAt + span, steadyAt)
    }
}

extension ReplayClass {
    /// The followers that the client certainly sends again.
    fileprivate var followerLimit: Int {
        if case .resends(let reach) = self { reach.limit ?? .max } else { .max }
    }
}

internal import DequeModule
internal import FerryBinary
internal import FerryCore
internal import FerryMachine

/// The admission of a notification: the gateway refuses it, swallows it as a copy, or forwards it.
extension GatewayMachine {
    func admit(
        _ offer: GatewayConnection.Offer,
        _ bytes: UnsafeBufferPointer<UInt8>,
        _ key: ReplayScope,
        _ filter: inout ReplayFilter,
        _ effects: inout [Effect],
        now: Moment
    ) -> GatewayConnection.Admitted {
        let identity = key.identity
        self.dispatch.verdicts.count(identity) { $0.read += 1 }
        let token: UnsafeBufferPointer<UInt8> = UnsafeBufferPointer(rebasing: bytes[offer.frame.token])
        let payload = UnsafeBufferPointer(rebasing: bytes[offer.frame.payload])
        let nature = PayloadNature(payload)
        let id = self.dispatch.jobs.reserve()
        let isNamed = offer.frame.identifier != nil
        var knownBad: BinaryStatus?
        var fate = JobFate.running
        if !nature.isValid {
            fate = .rejected(.invalidPayloadSize)
        } else if self.dispatch.verdicts.knowsBadTokens {
            knownBad = self.dispatch.knownBad(Array(token), identity: identity)
            if let knownBad { fate = .rejected(knownBad) }
        }
        var follower = Follower(
            key: self.makeKey(self.dispatch.topic(of: identity), token, payload),
            job: id,
            fate: fate,
            isConstant: nature.isConstant,
            identifier: offer.frame.identifier
        )
        let reader = Job.Reader(connection: offer.origin.connection, sequence: offer.sequence)
        switch filter.admit(follower, from: offer.origin, now: now.monotonic, effects: &effects) {
        case .forward:
            if let knownBad {
                self.dispatch.refuseKnownBad(
                    identity,
                    token: Array(token),
                    knownBad,
                    isTellable: isNamed && filter.standing(now: now.monotonic).mayHear,
                    as: id
                )
            } else if case .rejected(let status) = fate {
                let countsCharacters = CharacterLength.isLength(of: offer.frame.payload, in: bytes)
                self.dispatch.refuse(
                    identity,
                    token: Array(token),
                    status,
                    countsCharacters ? .payloadLengthInCharacters : nil,
                    isTellable: isNamed && filter.standing(now: now.monotonic).mayHear,
                    as: id
                )
            } else {
                var job = Job(
                    scope: key,
                    token: token,
                    payload: payload,
                    expiration: Self.expiration(offer.frame.expiration, now: now),
                    priority: offer.frame.priority ?? 0,
                    first: reader,
                    readAt: now.monotonic,
                    readAtSeconds: now.epochSeconds
                )
                job.isNamed = isNamed
                self.journal?.read(&job, as: id, now: now)
                self.dispatch.take(job, as: id)
                if let segment = self.journal?.number {
                    self.unsent.append((segment, id))
                } else if !self.dispatch.send(id, now: now) {
                    self.heldBack.append(reader)
                }
                return .init(follower, .new, isJournalled: true)
            }
            return .init(follower, .new)
        case .join(let running, let fate):
            self.dispatch.verdicts.count(identity) { $0.swallowed += 1 }
            follower.job = running
            // If the answer of a job has a feedback row, the filter learns the answer only when the row is durable.
            // Before that, the filter may take an ended job for a running one. Such a job passes no result to this
            // copy, so the copy counts as accepted.
            follower.fate = fate == .running && self.dispatch.jobs.scope(of: running) == nil ? .accepted : fate
            self.dispatch.join(running, reader)
            self.journal?.copy(reader, of: follower, key, now: now)
            return .init(follower, .copy, isJournalled: true)
        case .overtaken(let running):
            self.dispatch.verdicts.count(identity) { $0.swallowed += 1 }
            follower.job = running
            follower.fate = .accepted
            self.journal?.copy(reader, of: follower, key, now: now)
            return .init(follower, .copy, isJournalled: true)
        case .circle:
            self.dispatch.verdicts.count(identity) { $0.swallowed += 1 }
            follower.fate = .accepted
            return .init(follower, .circling)
        }
    }

    /// The `apns-expiration` of a notification; 0 for one attempt. A time that has passed, or that an old client sent
    /// as a negative number, counts as 0, as in Apple's gateway.
    private static func expiration(_ expiration: UInt32?, now: Moment) -> UInt32 {
        guard let expiration, expiration > now.epochSeconds, expiration < 1 << 31 else { return 0 }
        return expiration
    }

    /// Releases the notifications of this turn that wait at a shut gate, while the spool is open. Otherwise they would
    /// fill the window of the connection. If a client's list began with bad tokens, the gateway would then stop reading
    /// before it reached a good token.
    func releaseHeldBack(_ scope: inout GatewayScope, _ effects: inout [Effect], now: Moment) {
        guard !self.heldBack.isEmpty else { return }
        let readers = self.heldBack
        self.heldBack = []
        for reader in readers {
            let around = self.surroundings(of: scope.key, now: now)
            guard around.spool == .open else { return }
            guard let job = scope.job(of: reader) else { continue }
            self.dispatch.release(job)
            scope.release(reader, around, &effects)
            self.carryOut(&effects, of: scope.key, now: now)
        }
    }
}

internal import DequeModule
internal import FerryBinary
internal import FerryCore
internal import FerryMachine

/// The turns of the scopes, and their effects.
extension GatewayMachine {
    /// Returns the place of a scope, and makes the scope if it is unknown.
    func place(of key: ReplayScope) -> Scopes.Place {
        self.scopes.place(of: key, new: self.dispatch.identities[key.identity].filter)
    }

    func surroundings(of key: ReplayScope, now: Moment) -> GatewayScope.Surroundings {
        GatewayScope.Surroundings(
            now: now,
            spool: self.spool(for: key.identity, now: now),
            tellable: self.tellable
        )
    }

    /// Calls `body` with a scope, and carries out the effects. `body` cannot use the other scopes.
    func turn(
        of place: Scopes.Place,
        now: Moment,
        _ body: (inout GatewayScope, GatewayScope.Surroundings, inout [Effect]) -> Void
    ) {
        let key = self.scopes.key(of: place)
        let around = self.surroundings(of: key, now: now)
        self.scopes.with(place, around, &self.effects) { body(&$0, around, &$1) }
        if self.effects.contains(.learn) { self.journal?.learned(self.scopes.habit(of: place), now: now) }
        self.carryOut(&self.effects, of: key, now: now)
        guard self.hasClosed else { return }
        self.hasClosed = false
        for forgotten in self.scopes.closed(place) { self.journal?.forget(forgotten, now: now) }
    }

    /// Carries out the effects of a scope, and empties the list.
    func carryOut(_ effects: inout [Effect], of key: ReplayScope, now: Moment) {
        guard !effects.isEmpty else { return }
        for effect in effects {
            switch effect {
            case .tell(let id, let response):
                if response.status != .shutdown { self.dispatch.verdicts.count(key.identity) { $0.told += 1 } }
                self.traffic[key.identity].episodes += 1
                self.actions.append(Action(connection: id, work: .tell(response)))
            case .closeOutput(let id):
                self.actions.append(Action(connection: id, work: .closeOutput))
            case .close(let id, let isJournalled):
                self.places[id] = nil
                self.traffic[key.identity].connections -= 1
                self.hasClosed = true
                // During a handover, the journal gets no record that the connection has closed. After such a record,
                // the new owner would open no episode for the connection, and would deliver the client's copies as new
                // notifications.
                if isJournalled, self.handover == nil { self.journal?.closed(id, now: now) }
                self.actions.append(Action(connection: id, work: .close))
            case .read(let id, let isReading):
                self.actions.append(Action(connection: id, work: .read(isReading)))
            case .deferRejection(let job):
                self.dispatch.verdicts.deferRejection(of: job, client: key.identity)
            case .release(let job):
                self.dispatch.release(job)
            case .refuse(let refusal, let mayHear):
                self.refuse(refusal, of: key.identity, mayHear: mayHear)
            case .report(let violation):
                self.dispatch.verdicts.events.append(.violation(identity: key.identity, violation))
            case .begin(let episode, let named):
                self.journal?.told(episode, named, key, now: now)
                if let segment = self.journal?.number { self.unopened.append((segment, episode)) }
            case .giveUp(let episode):
                self.journal?.untold(episode, now: now)
            case .end(let episode, let isUnheard, let named):
                self.journal?.over(episode, now: now)
                if isUnheard { self.dispatch.verdicts.deferRejection(of: named, client: key.identity) }
            case .learn:
                break
            }
        }
        effects.removeAll(keepingCapacity: true)
    }

    private func refuse(_ refusal: NotificationRefusal, of identity: Int, mayHear: Bool) {
        self.dispatch.verdicts.count(identity) { $0.read += 1 }
        // `mayHear` does not count for a probe (a notification with an empty token). The client sends the probe only to
        // get this error response.
        let isHeard = refusal.fault == .missingToken || mayHear
        self.dispatch.refuse(
            identity,
            token: nil,
            refusal.status,
            isTellable: refusal.identifier != nil && isHeard,
            as: nil
        )
    }
}

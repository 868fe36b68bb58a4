internal import DequeModule
internal import FerryBinary
internal import FerryCore
internal import FerryMachine

/// The actions of connections and replay filters.
extension GatewayMachine {
    /// Calls `body` with the replay filter of a scope, and takes what the filter puts out.
    func withFilter(_ scope: ReplayScope, now: Moment, _ body: (inout ReplayFilter) -> Void) {
        self.filters.with(scope, new: self.dispatch.identities[scope.identity].filter, now: now.monotonic) { filter in
            filter.today = SendingHabits.day(now.epochSeconds)
            let (replayClass, habits) = (filter.replayClass, filter.habits)
            body(&filter)
            if filter.habits != habits { self.lookAgain(scope, &filter, now: now) }
            if filter.replayClass != replayClass { filter.classShownAt = now.epochSeconds }
            if filter.replayClass != replayClass || filter.habits != habits {
                self.journal?.learned(ClientHabit(scope, filter), now: now)
            }
            self.collect(&filter, now: now)
            self.filterTimers[scope] = filter.nextDeadline
            self.setTimers(filter.standing(now: now.monotonic))
        }
        while let scope = self.left.popLast() {
            for forgotten in self.filters.closed(scope) {
                self.filterTimers[forgotten] = nil
                self.journal?.forget(forgotten, now: now)
            }
        }
    }

    /// Passes on the first trait of a client to its connections that wait for it.
    private func lookAgain(_ scope: ReplayScope, _ filter: inout ReplayFilter, now: Moment) {
        guard let waiting = self.undecided.removeValue(forKey: scope) else { return }
        for id in waiting.sorted(by: { $0.rawValue < $1.rawValue }) {
            guard let client = self.clients[id] else { continue }
            client.connection.spool = self.spool(for: client.identity, now: now)
            let standing = filter.standing(now: now.monotonic)
            let action = client.connection.timePassed(now: now.monotonic, standing: standing)
            self.perform(action, client, &filter, now: now)
        }
    }

    /// Does the action of a connection, and takes what else the connection puts out.
    func perform(
        _ action: GatewayConnection.Action,
        _ client: GatewayClient,
        _ filter: inout ReplayFilter,
        now: Moment
    ) {
        let id = client.connection.id
        filter.note(client.connection)
        switch action {
        case .none:
            break
        case .journal(let episode):
            guard self.journal != nil else {
                let standing = filter.standing(now: now.monotonic)
                let action = client.connection.durable(episode, now: now.monotonic, standing: standing)
                return self.perform(action, client, &filter, now: now)
            }
            self.giveUpJournalled(client, now: now)
            let named = client.connection.job(of: episode.sequence)
            self.journal?.told(episode, named, client.scope, now: now)
            client.isJournalled = true
            client.journalled = episode
            if let segment = self.journal?.number { self.unopened.append((segment, episode)) }
        case .tell(let telling):
            filter.open(
                telling.episode,
                telling.kind,
                named: telling.named,
                roundTrip: telling.roundTrip,
                followers: telling.followers,
                now: now.monotonic
            )
            client.journalled = nil
            // A client that never sends again has no episodes.
            if filter.replayClass == .never {
                self.journal?.over(telling.episode, now: now)
            } else {
                self.named[telling.episode] = telling.job
            }
            if telling.kind == .rejection { self.dispatch.verdicts.counts.told += 1 }
            self.actions.append(Action(connection: id, work: .tell(telling.response)))
        case .closeOutput:
            self.actions.append(Action(connection: id, work: .closeOutput))
        case .drained(let episode):
            filter.drained(episode, now: now.monotonic)
        case .close(let episode):
            if let episode { filter.drained(episode, now: now.monotonic) }
            filter.closed(id, now: now.monotonic)
            self.clients[id] = nil
            self.undecided[client.scope]?.remove(id)
            if self.undecided[client.scope]?.isEmpty ?? false { self.undecided[client.scope] = nil }
            self.left.append(client.scope)
            if client.isJournalled { self.journal?.closed(id, now: now) }
            self.actions.append(Action(connection: id, work: .close))
        }
        if client.connection.waitingEpisode != client.journalled { self.giveUpJournalled(client, now: now) }
        self.collect(client, filter, now: now)
        if client.connection.waitsAlone, filter.standing(now: now.monotonic).mayBeSingle {
            self.undecided[client.scope, default: []].insert(id)
        }
        if client.isReading != client.connection.isReading {
            client.isReading.toggle()
            // A connection that is closed stops nothing.
            if self.clients[id] != nil { filter.reads(id, client.isReading, now: now.monotonic) }
            self.actions.append(Action(connection: id, work: .read(client.isReading)))
        }
        guard !client.isTouched else { return }
        client.isTouched = true
        self.touched.append(client)
    }

    /// Notes that an error response was given up whose episode the journal has.
    private func giveUpJournalled(_ client: GatewayClient, now: Moment) {
        guard let journalled = client.journalled else { return }
        client.journalled = nil
        self.journal?.untold(journalled, now: now)
    }

    private func collect(_ client: GatewayClient, _ filter: borrowing ReplayFilter, now: Moment) {
        for rejection in client.connection.takeDeferred() { self.dispatch.verdicts.deferRejection(of: rejection.job) }
        for job in client.connection.takeReleased() { self.dispatch.release(job) }
        for refusal in client.connection.takeRefused() {
            self.dispatch.verdicts.counts.read += 1
            // A probe is answered to any client: it waits for that.
            let isHeard = refusal.fault == .missingToken || filter.standing(now: now.monotonic).mayHear
            self.dispatch.refuse(
                client.identity,
                token: nil,
                refusal.status,
                isTellable: refusal.identifier != nil && isHeard,
                as: nil
            )
        }
    }

    private func collect(_ filter: inout ReplayFilter, now: Moment) {
        for untold in filter.takeUntold() { self.dispatch.verdicts.deferRejection(of: untold.job) }
        for ended in filter.takeEnded() {
            self.journal?.over(ended.episode, now: now)
            let job = self.named.removeValue(forKey: ended.episode)
            if ended.isUnheard { self.dispatch.verdicts.deferRejection(of: job) }
        }
    }
}

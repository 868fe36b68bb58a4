internal import FerryCore
internal import FerryMachine

/// The switch to the tables of another configuration, while notifications wait and are under way.
///
/// ```
///   flow 2 ──▶ route 0 (old key)        notifications under way end here
///      └────▶ route 3 (new key)         those that wait, and those that are sent again, go here
/// ```
///
/// No number changes its meaning, so a late outcome still finds its flow, its route and its upstream.
extension Dispatch {
    /// Takes the tables of a reload, with the numbers of ``GatewayNumbers``.
    ///
    /// Cost: one pass over the flows and the routes, and a sort of the waiting notifications that are queued anew. Each
    /// flow that gets another route or ends also costs one pass over the copies of its upstream.
    ///
    /// - Parameter replaced: the upstreams that get another provider.
    mutating func adopt(_ tables: GatewayTables, replaced: Set<Int>, now: Moment) {
        assert(tables.identities.count >= self.identities.count, "a client keeps its number")
        self.identities = tables.identities
        let known = self.routes.count
        self.routes.grow(tables.routes[known...], upstreams: tables.upstreams.count)
        self.verdicts.grow(clients: tables.identities.count, upstreams: tables.upstreams.count)
        self.jobs.grow(identities: tables.identities.count)
        while self.outgoing.count < tables.upstreams.count { self.outgoing.append(Outgoing()) }
        // The side connection has the old credential.
        for upstream in replaced {
            if let number = self.outgoing[upstream].side.number { self.outgoing[upstream].side.leave(number) }
        }
        var waiting: [JobID] = []
        self.switchFlows(&waiting)
        // The order of the numbers is the order in which new notifications were read.
        for id in waiting.sorted(by: { $0.rawValue < $1.rawValue }) { self.send(id, now: now) }
        for outgoing in self.outgoing { outgoing.dialIfNeeded(now: now.monotonic) }
    }

    /// Gives each client the flows of its present topics.
    ///
    /// - Parameter waiting: gets the notifications that must be sent to another route, or whose client has other
    ///   topics.
    private mutating func switchFlows(_ waiting: inout [JobID]) {
        var known = Dictionary(grouping: self.flows.indices, by: { self.flows[$0].identity })
        for (number, identity) in self.identities.enumerated() {
            if self.active.count == number {
                self.active.append([])
                self.guesses.append(ConnectionTurns())
                self.lastFlows.append(0)
            }
            let before = self.active[number]
            var own = known.removeValue(forKey: number) ?? []
            var present: [Int] = []
            for route in identity.routes {
                let topic = self.routes.topic(of: route)
                if let place = own.firstIndex(where: { self.routes.topic(of: self.flows[$0].route) == topic }) {
                    let flow = own.remove(at: place)
                    self.move(flow, to: route, &waiting)
                    self.flows[flow].isActive = true
                    present.append(flow)
                } else {
                    present.append(self.flows.count)
                    self.flows.append(TopicFlow(route: route, identity: number))
                }
            }
            for flow in own where self.flows[flow].isActive {
                waiting += self.takeWaiting(of: flow)
                self.flows[flow].isActive = false
            }
            self.active[number] = present
            guard present != before else { continue }
            waiting += self.guesses[number].takeAll()
            if !present.contains(self.lastFlows[number]) { self.lastFlows[number] = present.first ?? 0 }
        }
        self.endAlarms()
    }

    private mutating func move(_ flow: Int, to route: Int, _ waiting: inout [JobID]) {
        let old = self.flows[flow].route
        guard old != route else { return }
        waiting += self.takeWaiting(of: flow)
        let identity = self.flows[flow].identity
        if self.lastFlows[identity] == flow { waiting += self.guesses[identity].takeAll() }
        if self.routes.upstream(of: old) != self.routes.upstream(of: route) {
            // The counted server errors and refusals came from the old upstream, and say nothing about the new one.
            self.flows[flow].suspicion = Suspicion()
        }
        self.flows[flow].route = route
    }

    /// Removes and returns the notifications of a flow that wait for their turn, at the gate, or for a side connection.
    private mutating func takeWaiting(of flow: Int) -> [JobID] {
        self.leaveOrder(flow)
        let outgoing = self.outgoing(of: flow)
        var waiting = self.flows[flow].turns.takeAll() + self.routes.takeHeld(of: flow, at: self.flows[flow].route)
        for id in outgoing.copies.isEmpty ? [] : outgoing.copies.turns.takeAll() {
            guard let job = self.jobs[id], case .waitsForSide = job.way else { continue }
            guard job.flow == flow else {
                outgoing.copies.turns.append(id, on: job.first.connection)
                continue
            }
            self.jobs.change(id) { $0.way = .none }
            waiting.append(id)
        }
        self.forgetOld(outgoing)
        return waiting
    }

    /// Ends the alarms of gates that no client uses. Without notifications, such a gate would never open, and its
    /// alarm would never end. A client that the configuration no longer names uses its gates until its notifications
    /// have final answers.
    mutating func endAlarms() {
        let flows = self.flows.filter { flow in
            flow.isActive && (self.identities[flow.identity].isConfigured || self.jobs.count(of: flow.identity) > 0)
        }
        for route in self.routes.leave(except: Set(flows.map(\.route))) {
            let upstream = self.routes.upstream(of: route)
            self.verdicts.events.append(.allClear(upstream: upstream, topic: self.routes.topicName(of: route)))
        }
    }

    /// Whether no notification waits for an upstream or is under way to this upstream. An upstream that the
    /// configuration does not name may then end.
    func isDrained(_ upstream: Int) -> Bool {
        let outgoing = self.outgoing[upstream]
        guard outgoing.underWay == 0, outgoing.batch.isEmpty, outgoing.sideBatch.isEmpty else { return false }
        return !self.flows.contains { flow in
            flow.isActive && self.routes.upstream(of: flow.route) == upstream && self.jobs.count(of: flow.identity) > 0
        }
    }
}

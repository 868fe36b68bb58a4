internal import FerryCore
internal import FerryMachine
internal import NIOCore

extension GatewayMachine {
    /// Takes the tables of a reload, with the numbers of ``GatewayNumbers``. Call ``end(_:now:)`` for the connections
    /// that the new configuration does not allow.
    ///
    /// - Parameter replaced: the upstreams that get another provider.
    func adopt(_ tables: GatewayTables, replaced: Set<Int>, now: Moment) {
        let before = self.dispatch.identities
        self.dispatch.adopt(tables, replaced: replaced, now: now)
        while self.traffic.count < tables.identities.count { self.traffic.append(ClientTraffic()) }
        self.journal?.rename(tables.identities.map(\.storeName))
        self.list?.rename(tables.identities)
        if self.isShared { self.sharedLine = RejectionLine(identities: tables.identities) }
        for (number, identity) in tables.identities.enumerated() {
            let old = before.indices.contains(number) ? before[number] : nil
            if let old, old.resends != identity.resends {
                self.scopes.configure(number, resends: identity.resends)
            }
            if old?.routes.first != identity.routes.first || old?.isConfigured != identity.isConfigured {
                self.dispatch.routes.note(identity)
            }
        }
        self.collectNotes(now: now)
    }

    /// Ends connections that the configuration no longer allows, with status 10 where that is safe.
    func end(_ connections: [ConnectionID], now: Moment) {
        for id in connections {
            guard let place = self.places[id] else { continue }
            self.turn(of: place, now: now) { $0.shutDown(id, by: now.monotonic + GatewayBounds.ending, $1, &$2) }
        }
    }

    /// The client of a connection; nil if the connection is closed.
    func identity(of id: ConnectionID) -> Int? {
        self.places[id].map { self.scopes.key(of: $0).identity }
    }

    /// The number of a client's notifications without a final answer.
    func unanswered(of client: Int) -> Int { self.dispatch.jobs.count(of: client) }

    /// Whether an upstream that the configuration no longer names has done all its work.
    func isDrained(_ upstream: Int) -> Bool { self.dispatch.isDrained(upstream) }
}

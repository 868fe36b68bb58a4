internal import FerryCore
internal import FerryMachine
internal import NIOCore

/// The gates of the topics.
extension Dispatch {
    /// Notes that APNs knows the topic and a token.
    mutating func open(_ route: Int, now: Moment) {
        if self.routes[route].gate.isWarm, !self.routes[route].gate.isOld(now: now.epochSeconds) { return }
        let wasShut = self.routes[route].gate.isShut
        self.routes[route].gate.accepted(now: now.epochSeconds)
        if let change = GateRow.warm(self.routes[route], now: now.epochSeconds) { self.rowChanges.append(change) }
        guard wasShut else { return }
        let topic = String(decoding: self.routes[route].topic, as: UTF8.self)
        self.events.append(.allClear(upstream: self.routes[route].upstream, topic: topic))
        for id in self.held[route].takeAll() { self.send(id, now: now) }
    }

    /// Takes back the notifications that have not gone out, because their gate has shut, and reports the alarm.
    mutating func shut(_ route: Int, _ reason: Reason?, now: Moment) {
        self.takeBack(route, now: now)
        let topic = String(decoding: self.routes[route].topic, as: UTF8.self)
        self.events.append(.alarm(upstream: self.routes[route].upstream, topic: topic, reason))
    }

    // MARK: An earlier process

    /// Opens the gates that an earlier process found warm, with this host, topic and credential.
    ///
    /// - Returns: the names of the clients whose tokens an earlier process sent elsewhere, or with another credential.
    mutating func restoreGates(_ rows: [StoreRow], now: Moment) -> Set<String> {
        let rows = Dictionary(rows.map { ($0.key, $0.value) }, uniquingKeysWith: { first, _ in first })
        for index in self.routes.indices {
            guard let key = GateRow.key(of: self.routes[index]), let value = rows[key],
                let warmAt = GateRow.time(value, now: now.epochSeconds)
            else { continue }
            self.routes[index].gate.accepted(now: warmAt)
        }
        var moved: Set<String> = []
        for identity in self.identities {
            guard let route = identity.routes.first, let key = GateRow.key(of: self.routes[route]) else { continue }
            let own = GateRow.key(ofClient: identity.name)
            guard rows[own] != key else { continue }
            if rows[own] != nil { moved.insert(identity.name) }
            self.rowChanges.append(StoreChange(.gates, key: own, value: key))
        }
        return moved
    }
}

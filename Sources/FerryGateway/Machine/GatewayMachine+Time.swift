internal import FerryCore
package import FerryMachine
internal import HeapModule
package import NIOCore

extension GatewayMachine {
    struct Timer: Comparable {
        var at: NIODeadline
        var connection: ConnectionID

        static func < (left: Timer, right: Timer) -> Bool { left.at < right.at }
    }

    /// When to call ``timePassed(now:)``; nil: only inputs change anything.
    package var nextDeadline: NIODeadline? {
        [
            self.timers.min?.at, self.dispatch.nextDeadline, self.filterTimers.values.min(), self.journal?.nextDeadline,
            self.list?.nextDeadline,
        ]
        .compactMap(\.self).min()
    }

    /// Does everything that is due. A call that is too early does no harm.
    package func timePassed(now: Moment) {
        for (id, scope, settled) in self.dispatch.timePassed(now: now) {
            self.withFilter(scope, now: now) { filter in
                self.settled(settled, id, scope, &filter, filter.standing(now: now.monotonic), now: now)
            }
        }
        self.collectNotes(now: now)
        self.carrySparse(now: now)
        self.wakeClients(now: now)
        for (scope, at) in self.filterTimers where at <= now.monotonic {
            self.withFilter(scope, now: now) { $0.timePassed(now: now.monotonic) }
        }
        while let timer = self.timers.min, timer.at <= now.monotonic {
            self.timers.removeMin()
            guard let client = self.clients[timer.connection] else { continue }
            client.timer = .distantFuture
            self.withFilter(client.scope, now: now) { filter in
                client.connection.spool = self.spool(for: client.identity, now: now)
                let standing = filter.standing(now: now.monotonic)
                let action = client.connection.timePassed(now: now.monotonic, standing: standing)
                self.perform(action, client, &filter, now: now)
            }
        }
    }

    /// Sets the timers of the connections that had an input. A timer that is too early does no harm, so that most inputs
    /// set none.
    func setTimers(_ standing: ReplayFilter.Standing) {
        for client in self.touched {
            client.isTouched = false
            guard let at = client.connection.nextDeadline(standing: standing), at < client.timer else { continue }
            client.timer = at
            self.timers.insert(Timer(at: at, connection: client.connection.id))
        }
        self.touched.removeAll(keepingCapacity: true)
    }
}

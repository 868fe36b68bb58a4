internal import FerryCore
internal import FerryMachine
internal import HeapModule
internal import NIOCore

extension GatewayMachine {
    /// When to call ``timePassed(now:)``; nil if only an input can change the state.
    var nextDeadline: NIODeadline? {
        [
            self.scopes.nextDeadline, self.dispatch.nextDeadline, self.journal?.nextDeadline, self.listDeadline,
            self.letters.nextDeadline, self.handover?.nextDeadline,
        ]
        .compactMap(\.self).min()
    }

    /// Carries out due work. A call before ``nextDeadline`` does no harm.
    func timePassed(now: Moment) {
        for (id, key, settled) in self.dispatch.timePassed(now: now) {
            self.turn(of: self.place(of: key), now: now) { scope, _, effects in
                self.settled(settled, id, &scope, scope.standing(now: now), &effects, now: now)
            }
        }
        self.collectNotes(now: now)
        self.removeOldLetters(now: now)
        self.carrySparse(now: now)
        self.wakeClients(now: now)
        self.goOnHandingOver(now: now)
        while let place = self.scopes.popDue(now: now.monotonic) {
            self.turn(of: place, now: now) { $0.timePassed($1, &$2) }
        }
    }
}

internal import FerryCore
internal import FerryMachine
internal import NIOCore

extension GatewayMachine {
    // MARK: The ways to the upstreams

    /// Passes the next notifications for an upstream to `body`, batch after batch, until no notification is left or
    /// `body` leaves some of a batch. At most one batch for the side connection follows. The owner opens a side
    /// connection when the first batch for it comes.
    func withBatches(for upstream: Int, _ body: (UpstreamWay, inout PushBatch) -> Void) {
        self.dispatch.withBatches(for: upstream, body)
    }

    /// Removes and returns the side connections to close. Only late answers may still come on them.
    func takeEndedSides(of upstream: Int) -> [SideID] { self.dispatch.takeEndedSides(of: upstream) }

    /// Notes that a side connection ended by itself. The outcomes of its notifications may come later.
    func lost(_ side: SideID, now: Moment) { self.dispatch.lost(side, now: now) }

    /// Passes the notes of ``Dispatch`` to the journal: the notifications that may have arrived, and the rows of gates.
    func collectNotes(now: Moment) {
        let doubted = self.dispatch.takeDoubted()
        let changes = self.dispatch.routes.takeRowChanges()
        guard self.journal != nil else { return }
        for id in doubted { self.journal?.doubted(id, now: now) }
        self.journal?.change(changes, now: now)
    }
}

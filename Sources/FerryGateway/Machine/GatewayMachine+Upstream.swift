internal import FerryCore
internal import FerryMachine
internal import NIOCore

extension GatewayMachine {
    // MARK: The ways to the upstreams

    /// Hands the next notifications for an upstream to `body`, batch after batch, until it leaves some of one. A side
    /// connection is opened for its first batch.
    func withBatches(for upstream: Int, _ body: (UpstreamWay, inout PushBatch) -> Void) {
        self.dispatch.withBatches(for: upstream, body)
    }

    /// Removes and returns the side connections that are to be closed. Only late answers are under way on them,
    /// if any.
    func takeEndedSides(of upstream: Int) -> [SideID] { self.dispatch.takeEndedSides(of: upstream) }

    /// Notes that a side connection ended by itself. The outcomes of what was under way on it may come later.
    func lost(_ side: SideID, now: Moment) { self.dispatch.lost(side, now: now) }

    /// Passes the notes of ``Dispatch`` to the journal: notifications that may have arrived, and gates that are warm.
    func collectNotes(now: Moment) {
        let doubted = self.dispatch.takeDoubted()
        let changes = self.dispatch.routes.takeRowChanges()
        guard self.journal != nil else { return }
        for id in doubted { self.journal?.doubted(id, now: now) }
        self.journal?.change(changes, now: now)
    }
}

internal import FerryCore
internal import FerryMachine
internal import NIOCore

/// The handing over of a shared store to the process that has taken it.
///
/// ```
///   owner ──▶ commits go on, and are handed over ──▶ all have their answer ──▶ 1 s ──▶ connections are closed
/// ```
///
/// The owner of the machine stops reading at once. Nothing is forwarded or told any more. The clients are closed last:
/// programs that send again after a close do so when the new owner knows the first copies.
extension GatewayMachine {
    struct Handover {
        /// The last segment with a notification that was read.
        var segment: UInt64
        /// When the connections are closed; nil until the segment is handed over.
        var closesAt: NIODeadline?
        /// Whether the connections were closed.
        var isOver = false

        fileprivate(set) var nextDeadline: NIODeadline?
    }

    /// Begins the handing over, if it has not begun.
    func handOver(now: Moment) {
        guard self.handover == nil, self.journal != nil else { return }
        self.dispatch.verdicts.events.append(.handingOver)
        self.lostBefore = self.lost
        self.dispatch.stop(isKept: true)
        self.sealJournal(now: now)
        self.handover = Handover(segment: self.lastSegment ?? 0)
        self.goOnHandingOver(now: now)
    }

    /// Whether everything is handed over, and no connection is left.
    var isHandedOver: Bool { self.handover?.isOver ?? false && self.connectionCount == 0 }

    func goOnHandingOver(now: Moment) {
        guard let handover = self.handover, !handover.isOver, self.isStored(through: handover.segment) else { return }
        let closesAt = handover.closesAt ?? now.monotonic + GatewayBounds.Journal.handover
        self.handover?.closesAt = closesAt
        self.handover?.nextDeadline = closesAt
        guard closesAt <= now.monotonic else { return }
        self.handover?.nextDeadline = nil
        // The last bytes of the clients, or answers of upstreams, may have come meanwhile.
        self.sealJournal(now: now)
        self.handover?.segment = self.lastSegment ?? 0
        guard self.isStored(through: self.lastSegment ?? 0) else { return }
        self.handover?.isOver = true
        self.endsAt = now.monotonic
        self.shutDown(now: now)
    }
}

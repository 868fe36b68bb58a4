internal import FerryCore
internal import FerryMachine
internal import NIOCore

/// The handing over of a shared store to the process that has taken it.
///
/// ```
///   owner ──▶ handing over: commits go on ──▶ all are handed over ──▶ 2 s ──▶ saying goodbye ──▶ over
/// ```
///
/// Nothing is forwarded any more, and no rejection is told. Reading goes on, because clients take the bytes that they
/// have written for sent, and many would never notice a loss. The clients are closed last, with status 10 where that is
/// safe. A program that sends again after a close then meets a new owner that already knows the notifications.
extension GatewayMachine {
    struct Handover {
        enum Stage {
            /// - Parameter segment: the last segment with records from before the handing over.
            case handingOver(segment: UInt64)
            case waiting(until: NIODeadline)
            case sayingGoodbye
        }

        var stage: Stage

        var nextDeadline: NIODeadline? { if case .waiting(let until) = self.stage { until } else { nil } }
    }

    /// Begins the handing over, if it has not begun.
    func handOver(now: Moment) {
        guard self.handover == nil, self.journal != nil else { return }
        self.dispatch.verdicts.events.append(.handingOver)
        self.lostBefore = self.lost
        self.dispatch.stop(isKept: true)
        // The store may have acknowledged commits that the database does not have. It answers one more commit only
        // after these, so this one is added.
        if self.journal?.isIdle ?? false { self.journal?.begin(now: now) }
        self.sealJournal(now: now)
        self.handover = Handover(stage: .handingOver(segment: self.lastSegment ?? 0))
        self.goOnHandingOver(now: now)
    }

    /// The error responses that may be written now.
    var tellable: GatewayScope.Tellable {
        switch self.handover?.stage {
        case .handingOver, .waiting: .nothing
        case .sayingGoodbye: .lastWords
        case nil: self.mayTell ? .everything : .nothing
        }
    }

    /// Whether the clients get their last words. The records of the last words go to the new owner, too.
    var isSayingGoodbye: Bool { if case .sayingGoodbye = self.handover?.stage { true } else { false } }

    /// Whether everything is handed over, and no connection is left.
    var isHandedOver: Bool {
        self.isSayingGoodbye && self.connectionCount == 0 && self.journal?.isIdle ?? true
    }

    func goOnHandingOver(now: Moment) {
        switch self.handover?.stage {
        case .handingOver(let segment) where self.isStored(through: segment):
            self.handover?.stage = .waiting(until: now.monotonic + GatewayBounds.Journal.handover)
        case .waiting(let until) where until <= now.monotonic:
            self.handover?.stage = .sayingGoodbye
            self.shutDown(now: now)
        case .sayingGoodbye where self.connectionCount == 0:
            self.sealJournal(now: now)
        case .handingOver, .waiting, .sayingGoodbye, nil: break
        }
    }
}

internal import FerryCore
internal import FerryMachine
internal import NIOCore

/// The handing over of a shared store to the process that has taken it.
///
/// ```
///   owner ──▶ handing over: commits go on ──▶ all are handed over ──▶ 2 s ──▶ saying goodbye ──▶ over
/// ```
///
/// Nothing is forwarded any more, and no rejection is told except that of a probe (a notification with an empty token).
/// Reading goes on, because clients count written bytes as sent, and many would never notice a loss. The connections
/// are closed last, with status 10 where that is safe. A program that then sends again meets a new owner that already
/// knows the notifications.
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
        // The store may have acknowledged commits that the database does not have. The store answers a further commit
        // only after the database has these commits. So a commit is added if none is under way.
        if self.journal?.isIdle ?? false { self.journal?.begin(now: now) }
        self.sealJournal(now: now)
        self.handover = Handover(stage: .handingOver(segment: self.lastSegment ?? 0))
        self.goOnHandingOver(now: now)
    }

    /// The error responses that may be written now. The error response to a probe may always be written.
    var tellable: GatewayScope.Tellable {
        switch self.handover?.stage {
        case .handingOver, .waiting: .nothing
        case .sayingGoodbye: .lastWords
        case nil: self.mayTell ? .everything : .nothing
        }
    }

    /// Whether the clients get status 10. The records of these error responses go to the new owner, too.
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

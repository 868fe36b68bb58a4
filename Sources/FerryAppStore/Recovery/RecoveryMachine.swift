internal import FerryPlatform

/// The walk through the pages of the notification history, without I/O. The time is an argument.
///
/// ```
///               received             all handled, another page
///    asking ──────────────▶ handling ───────────────────────────▶ asking
///     │  ▲                     │
///     │  └─ place expired:     │ all handled, the last page
///     │     begin anew         ▼
///     └───────────────────▶ finished
/// ```
struct RecoveryMachine {
    enum Action: Hashable {
        /// Ask for a page.
        case ask(AppStoreHistoryQuery, page: String?)
        /// The window was read to its end.
        case finish
        /// The request failed, and another restart of the window would not help or is over ``restartLimit``.
        case stop
    }

    /// The result for one notification of a page.
    enum Outcome: Hashable {
        /// `isStillComing`: Apple would still repeat the notification.
        case stored(isStillComing: Bool)
        case duplicate
        case setAside(AppStoreVerificationError)
    }

    private enum State {
        case asking
        case handling(next: String?)
        case finished
    }

    /// The largest number of reasons in a report. If there are more, the last reason is `Other reasons.`.
    static let reasonLimit = 20
    /// The largest number of restarts of the window in a row, without a page between them.
    static let restartLimit = 2
    /// The shortest time from the oldest moment that Apple keeps to the start of a window, in milliseconds. It covers
    /// the difference of the clocks and the time that a request takes.
    static let reachMargin: Int64 = 5 * 60 * 1000

    private var state: State
    private var restartsInARow = 0
    private let environment: AppStoreEnvironment
    /// The checkpoint to write. A later recovery goes on from it.
    private(set) var checkpoint: RecoveryCheckpoint

    init(_ checkpoint: RecoveryCheckpoint) {
        self.checkpoint = checkpoint
        self.environment = AppStoreEnvironment(rawValue: checkpoint.environment)
        self.state = checkpoint.isComplete ? .finished : .asking
    }

    /// The next action.
    var next: Action {
        switch self.state {
        case .asking: .ask(self.query, page: self.checkpoint.paginationToken)
        case .handling, .finished: .finish
        }
    }

    private var query: AppStoreHistoryQuery {
        AppStoreHistoryQuery(
            from: Date(milliseconds: self.checkpoint.from),
            to: Date(milliseconds: self.checkpoint.to),
            onlyFailures: self.checkpoint.onlyFailures
        )
    }

    /// Notes that a page came. The caller then calls ``handled(_:)`` for each of its notifications, and
    /// ``pageHandled()`` after the last.
    mutating func received(next: String?) {
        self.restartsInARow = 0
        self.state = .handling(next: next)
    }

    mutating func handled(_ outcome: Outcome) {
        self.checkpoint.fetched += 1
        switch outcome {
        case .stored(let isStillComing):
            self.checkpoint.stored += 1
            if isStillComing { self.checkpoint.stillComing += 1 }
        case .duplicate:
            self.checkpoint.duplicates += 1
        case .setAside(let error):
            self.setAside(error)
        }
    }

    private mutating func setAside(_ error: AppStoreVerificationError) {
        let place = self.checkpoint.setAside.firstIndex { $0.reason == error.description }
        if let place {
            self.checkpoint.setAside[place].count += 1
        } else if self.checkpoint.setAside.count < Self.reasonLimit {
            self.checkpoint.setAside.append(.init(code: error.code.rawValue, reason: error.description, count: 1))
        } else {
            self.checkpoint.setAside[Self.reasonLimit - 1].reason = "Other reasons."
            self.checkpoint.setAside[Self.reasonLimit - 1].count += 1
        }
    }

    /// Notes that all notifications of the page were taken or set aside, so that the checkpoint may be written.
    mutating func pageHandled() {
        guard case .handling(let next) = self.state else { return }
        self.checkpoint.pages += 1
        self.checkpoint.paginationToken = next
        self.checkpoint.isComplete = next == nil
        self.state = next == nil ? .finished : .asking
    }

    /// Notes that a request failed. Returns `ask` to read the window again from its start, or else `stop`.
    mutating func refused(_ code: AppStoreServerError.Code, now: Date) -> Action {
        guard case .asking = self.state, self.restartsInARow < Self.restartLimit else { return .stop }
        switch code {
        case .paginationTokenExpired, .invalidPaginationToken:
            guard self.checkpoint.paginationToken != nil else { return .stop }
        case .startDateTooFarInPast:
            // Since the window was made, its start has become older than Apple keeps notifications. So the window gets
            // a later start.
            self.checkpoint.from = Self.reachable(self.checkpoint.from, self.environment, now: now)
            guard self.checkpoint.from < self.checkpoint.to else { return .stop }
        default:
            return .stop
        }
        self.restartsInARow += 1
        self.checkpoint.restarts += 1
        self.checkpoint.paginationToken = nil
        self.checkpoint.storedBefore = self.checkpoint.stored
        (self.checkpoint.pages, self.checkpoint.fetched, self.checkpoint.duplicates) = (0, 0, 0)
        self.checkpoint.setAside = []
        return self.next
    }

    /// Returns the later of two times: `start`, and the oldest moment of which Apple certainly still has
    /// notifications. Both are milliseconds since 1970.
    static func reachable(_ start: Int64, _ environment: AppStoreEnvironment, now: Date) -> Int64 {
        let reach = AppStoreHistoryQuery.reach(environment).components.seconds * 1000
        return max(start, now.milliseconds - reach + Self.reachMargin)
    }

    /// Whether Apple will repeat a notification after the attempts so far.
    static func isStillComing(
        _ attempts: [AppStoreSendAttempt],
        signed: Date?,
        schedule: RetrySchedule,
        now: Date
    ) -> Bool {
        guard !attempts.contains(where: { $0.result == .success }) else { return false }
        if let last = attempts.map(\.date).max() {
            guard attempts.count <= schedule.delays.count else { return false }
            return last + schedule.delays[attempts.count - 1].timeInterval > now
        }
        return signed.map { schedule.lastChance(from: $0) > now } ?? false
    }
}

public import FerryPlatform

/// The work that a recovery has done so far.
public struct AppStoreRecoveryReport: Hashable, Sendable {
    /// Notifications that were refused for one reason.
    public struct SetAside: Hashable, Sendable {
        /// The kind of refusal. For `Other reasons.`, the code is that of one of these reasons.
        public var code: AppStoreVerificationError.Code
        /// The reason as a text. A report has at most 20 reasons. If there are more, the last is `Other reasons.`.
        public var reason: String
        /// The number of notifications, at least 1.
        public var count: Int
    }

    /// The period in which Apple first sent the notifications, without the part that Apple no longer has.
    public var window: Range<Date>
    /// The part of the requested period that Apple no longer has; nil if Apple has everything.
    public var outOfReach: Range<Date>?
    /// The number of pages whose notifications were all handled, since the last restart of the window. Apple puts at
    /// most 20 notifications on a page.
    public var pages = 0
    /// The number of notifications on these pages.
    public var fetched = 0
    /// The number of notifications that the sink did not have: the missed ones.
    public var stored = 0
    /// The number of stored notifications that Apple would still have repeated. Without the recovery, the other
    /// stored notifications would be lost.
    public var stillComing = 0
    /// The number of notifications that the sink already had. Notifications that this recovery stored before a
    /// restart are not counted.
    public var duplicates = 0
    /// The refused notifications since the last restart, by reason.
    public var setAside: [SetAside] = []
    /// The number of times that the recovery read the window again from its start, because Apple refused the page
    /// token or the start.
    public var restarts = 0
    /// Whether the window was read to its end.
    public var isComplete = false

    /// The number of refused notifications, for all reasons.
    public var setAsideCount: Int { self.setAside.reduce(0) { $0 + $1.count } }

    /// Makes the report of a recovery that has read no page. All counts are 0.
    public init(window: Range<Date>, outOfReach: Range<Date>? = nil) {
        self.window = window
        self.outOfReach = outOfReach
    }
}

public import FerryPlatform

/// The work that a recovery has done so far.
public struct AppStoreRecoveryReport: Hashable, Sendable {
    /// Notifications that were refused for one reason.
    public struct SetAside: Hashable, Sendable {
        /// The kind of refusal. For `Other reasons.` it is the code of one of the reasons.
        public var code: AppStoreVerificationError.Code
        /// One sentence. A report has at most 20 reasons. If there are more, the last one is `Other reasons.`.
        public var reason: String
        /// The number of notifications, at least 1.
        public var count: Int
    }

    /// The period in which Apple first sent the notifications, without the part that Apple no longer has.
    public var window: Range<Date>
    /// The part of the requested period that Apple no longer has; nil if Apple has everything.
    public var outOfReach: Range<Date>?
    /// The pages that were read to their ends. Apple puts 20 notifications on a page.
    public var pages = 0
    /// The number of notifications on these pages.
    public var fetched = 0
    /// The number of notifications that the sink did not have: the missed ones.
    public var stored = 0
    /// The number of stored notifications that Apple would still have repeated. Without the recovery, the others would
    /// be lost.
    public var stillComing = 0
    /// The number of notifications that the sink already had.
    public var duplicates = 0
    /// The refused notifications, by reason.
    public var setAside: [SetAside] = []
    /// The number of times that the window was begun again, because Apple refused its page token or its start.
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

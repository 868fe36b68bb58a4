#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// What a recovery has done so far.
public struct AppStoreRecoveryReport: Hashable, Sendable {
    /// Notifications that were refused for one reason.
    public struct SetAside: Hashable, Sendable {
        /// What follows from the refusal. Of `Other reasons.` it is the code of one of them.
        public var code: AppStoreVerificationError.Code
        /// One sentence. A report has 20 reasons at most: the last one is `Other reasons.` when there were more.
        public var reason: String
        /// The number of notifications, at least 1.
        public var count: Int
    }

    /// The time in which Apple first sent the notifications, as far as Apple still has it.
    public var window: Range<Date>
    /// The part of the time that was asked for and that Apple no longer has. Nil: it has everything.
    public var outOfReach: Range<Date>?
    /// The pages that were read to their ends. Apple puts 20 notifications on a page.
    public var pages = 0
    /// The notifications on them.
    public var fetched = 0
    /// Those that were not there before: what was missed.
    public var stored = 0
    /// Those of ``stored`` that Apple would still bring by itself. The others were lost without the recovery.
    public var stillComing = 0
    /// Those that were there before.
    public var duplicates = 0
    /// Those that were refused, by reason.
    public var setAside: [SetAside] = []
    /// How often the window was begun anew, because Apple's place in it had expired.
    public var restarts = 0
    /// Whether the window was read to its end.
    public var isComplete = false

    /// The number of refused notifications, for all reasons.
    public var setAsideCount: Int { self.setAside.reduce(0) { $0 + $1.count } }

    /// Makes the report of a recovery that has read no page: all counts are 0.
    public init(window: Range<Date>, outOfReach: Range<Date>? = nil) {
        self.window = window
        self.outOfReach = outOfReach
    }
}

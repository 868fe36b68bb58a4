public import FerryAppStore

extension NotificationSender {
    /// How notifications are sent, and what goes wrong. The default has no faults. Fractions are from 0 to 1.
    public struct Options: Sendable {
        /// The retries of all notifications; nil: those of their version and environment.
        public var schedule: RetrySchedule?
        /// Whether an answer with 400 is final. In March 2026 it was for some days (Apple's developer forum, thread 819050).
        public var refusesRetryAfter400 = false
        /// Whether statuses that are neither success nor 40x nor 50x are retried, too. Apple promises it for none of them.
        public var retriesOtherStatuses = false
        /// Whether a retry has a new `signedDate`. If not, it is the same text.
        public var signsRetriesAnew = false
        /// The fraction of delivered notifications that are sent once more.
        public var duplicates = 0.0
        /// The fraction of notifications whose first attempt comes up to a minute late.
        public var reordered = 0.0
        /// The fraction of posts whose body comes slowly.
        public var slowBodies = 0.0
        /// The fraction of posts whose connection is cut in the middle of the body.
        public var cuts = 0.0
        /// The fraction of posts whose answer is not awaited: the App Store sends them again although they arrived.
        public var impatience = 0.0
        /// Decides which notifications the fractions concern.
        public var seed: UInt64 = 0

        /// Makes options with their defaults.
        public init() {}

        /// The steps by which late notifications and duplicates come later, in seconds.
        static let reorderingStep = 10.0
        static let reorderingSteps = 6

        func schedule(of notification: SimulatedNotification) -> RetrySchedule {
            self.schedule
                ?? RetrySchedule(version: notification.version.rawValue, environment: notification.environment)
        }

        func isRetried(_ answer: NotificationAnswer) -> Bool {
            switch answer.meaning {
            case .success: false
            case .retry: !(self.refusesRetryAfter400 && answer.status == 400)
            case .unsuccessful: self.retriesOtherStatuses
            }
        }
    }
}

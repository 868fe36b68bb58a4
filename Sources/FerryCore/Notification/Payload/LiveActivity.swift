public import FerryPlatform

extension Payload {
    /// An event of a Live Activity. Its alert, its sound and its relevance are fields of the ``Payload``. Times are sent
    /// in whole seconds.
    ///
    /// Source: "Starting and updating Live Activities with ActivityKit push notifications" (Apple).
    public struct LiveActivity: Hashable, Sendable {
        /// Start, update or end.
        public var event: Event
        /// The time at which the content was true. A device ignores content older than its own.
        public var timestamp: Date
        /// The activity's `ContentState`, in the encoding that the app decodes. Only ``Event/end`` may leave it out.
        public var contentState: JSONFragment?
        /// The time from which the content counts as out of date.
        public var staleDate: Date?
        /// The time at which the system removes an activity that has ended. Nil leaves it to the system, which takes
        /// hours.
        public var dismissalDate: Date?

        /// - Parameters:
        ///   - event: start, update or end.
        ///   - timestamp: the time at which the content was true.
        ///   - contentState: required by ``Event/start(attributesType:attributes:)`` and ``Event/update``.
        ///   - staleDate: the time from which the content counts as out of date. Nil: the field is left out.
        ///   - dismissalDate: the time at which the system removes an activity that has ended. Nil leaves it to the
        ///     system, which takes hours.
        public init(
            _ event: Event,
            timestamp: Date,
            contentState: JSONFragment?,
            staleDate: Date? = nil,
            dismissalDate: Date? = nil
        ) {
            self.event = event
            self.timestamp = timestamp
            self.contentState = contentState
            self.staleDate = staleDate
            self.dismissalDate = dismissalDate
        }

        /// The kind of event.
        @nonexhaustive
        public enum Event: Hashable, Sendable {
            /// Starts an activity. Only this event names its `ActivityAttributes` type.
            case start(attributesType: String, attributes: JSONFragment)
            /// Changes what a running activity shows.
            case update
            /// Ends an activity.
            case end
        }
    }
}

/// The result of one reading of the feedback list.
public struct FeedbackReport: Hashable, Sendable {
    /// How the stream ended.
    @nonexhaustive
    public enum Ending: Hashable, Sendable {
        /// The service sent TLS close_notify: nothing was cut off.
        case closeNotify
        /// The connection ended without close_notify, as old services do. After a whole tuple this counts as the end of
        /// the list, although an attacker on the path could have cut it there.
        case endOfStream
        /// The service did not end the list: the reading failed, timed out or was cancelled.
        case unfinished
    }

    /// The number of tuples that were delivered.
    public var tuples: Int
    /// The number of tuples that were left out, because their token is empty or longer than 100 bytes.
    public var skipped: Int
    /// The bytes of a last, incomplete tuple, which is lost. 0 if the last tuple was complete.
    public var truncatedBytes: Int
    /// How the stream ended.
    public var ending: Ending

    package init(tuples: Int = 0, skipped: Int = 0, truncatedBytes: Int = 0, ending: Ending = .unfinished) {
        self.tuples = tuples
        self.skipped = skipped
        self.truncatedBytes = truncatedBytes
        self.ending = ending
    }

    /// Whether the service ended the list and no tuple was skipped or cut off.
    public var isWhole: Bool {
        self.ending != .unfinished && self.skipped == 0 && self.truncatedBytes == 0
    }
}

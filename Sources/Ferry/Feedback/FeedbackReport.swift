/// What one reading of the feedback list came to.
public struct FeedbackReport: Hashable, Sendable {
    /// How the stream ended.
    @nonexhaustive
    public enum Ending: Hashable, Sendable {
        /// The service said TLS close_notify: nothing was cut off.
        case closeNotify
        /// The connection ended without close_notify, as old services do. Behind a whole tuple it counts as the end of
        /// the list, although somebody on the way could have cut it there.
        case endOfStream
        /// The service did not end it: a failure, a time-out, a cancellation.
        case unfinished
    }

    /// Tuples that were delivered.
    public var tuples: Int
    /// Tuples that were left out because their token is empty or longer than 100 bytes.
    public var skipped: Int
    /// Bytes of a last tuple that the end cut off, which is lost; 0 when there was none.
    public var truncatedBytes: Int
    /// How the stream ended.
    public var ending: Ending

    package init(tuples: Int = 0, skipped: Int = 0, truncatedBytes: Int = 0, ending: Ending = .unfinished) {
        self.tuples = tuples
        self.skipped = skipped
        self.truncatedBytes = truncatedBytes
        self.ending = ending
    }

    /// Whether the service ended the list, and every tuple in it was good.
    public var isWhole: Bool {
        self.ending != .unfinished && self.skipped == 0 && self.truncatedBytes == 0
    }
}

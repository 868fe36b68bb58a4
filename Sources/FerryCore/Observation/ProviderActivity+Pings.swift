extension ProviderActivity {
    /// The PINGs of HTTP/2 by their fate. The binary protocol has none.
    ///
    /// A PING whose connection ends for another reason is neither answered nor unanswered.
    public struct Pings: Hashable, Sendable {
        /// PINGs that were sent.
        public var sent = 0
        /// PINGs that were answered.
        public var answered = 0
        /// PINGs whose answer did not come in time. Their connection was left or dropped for that.
        public var unanswered = 0
        /// The times from a PING to its answer.
        public var roundTrips = DurationSample()

        /// Creates counts of zero.
        public init() {}

        package var isEmpty: Bool { self.sent == 0 && self.answered == 0 && self.unanswered == 0 }

        /// Counts the answer to a PING.
        package mutating func wasAnswered(afterNanoseconds time: Int64) {
            self.answered += 1
            self.roundTrips.add(nanoseconds: time)
        }

        /// Adds the counts of `other`.
        package mutating func add(_ other: Pings) {
            guard !other.isEmpty else { return }
            self.sent += other.sent
            self.answered += other.answered
            self.unanswered += other.unanswered
            self.roundTrips.add(other.roundTrips)
        }
    }
}

package import NIOCore

/// How long error responses take, and what follows from that for the settle time.
package struct ErrorDelay {
    /// The settle time is never raised beyond this.
    static let settleTimeCap: TimeAmount = .seconds(10)
    /// The shortest wait for silence after a suspect notification.
    static let quietFloor: TimeAmount = .milliseconds(50)
    /// What is settled is kept at least this long, if there is room.
    static let memoryFloor: TimeAmount = .seconds(10)
    static let halfLife: TimeAmount = .hours(1)

    let settleTimeFloor: TimeAmount
    /// Measured from the write of a notification that an error response refused.
    private(set) var longest: TimeAmount = .zero
    /// How late a response without a name may have been: the age of the oldest notification that it may be about.
    private var suspected: TimeAmount = .zero
    private var seenAt: NIODeadline?

    package init(settleTime: Duration) {
        self.settleTimeFloor = max(TimeAmount(settleTime), .zero)
    }

    package var settleTime: TimeAmount {
        let longest = max(self.longest, self.suspected)
        return max(self.settleTimeFloor, min(.nanoseconds(longest.nanoseconds / 2 * 3), Self.settleTimeCap))
    }

    /// How long to wait for silence after a suspect, at first.
    var quietTime: TimeAmount {
        min(max(Self.quietFloor, .nanoseconds(self.longest.nanoseconds * 4)), Self.settleTimeCap)
    }

    /// How long what is settled is remembered.
    var memory: TimeAmount { max(Self.memoryFloor, .nanoseconds(self.longest.nanoseconds * 4)) }

    package mutating func saw(_ delay: TimeAmount, now: NIODeadline) {
        let delay = Self.bounded(delay)
        if delay >= self.longest {
            self.longest = delay
            self.seenAt = now
        }
    }

    /// Notes how late the response to a culprit was that a search found.
    ///
    /// One that came far sooner than was suspected halves the suspicion. Else a gateway that names nothing and answers at
    /// once would keep the settle time at its cap. Another response may still be late, so it is not given up at once.
    package mutating func found(_ delay: TimeAmount, now: NIODeadline) {
        if Self.bounded(delay) < .nanoseconds(self.suspected.nanoseconds / 8) {
            self.suspected = .nanoseconds(self.suspected.nanoseconds / 2)
        }
        self.saw(delay, now: now)
    }

    /// Notes that an error response without a name may have been this late.
    package mutating func suspect(_ delay: TimeAmount, now: NIODeadline) {
        self.suspected = max(self.suspected, Self.bounded(delay))
        self.seenAt = now
    }

    /// Beyond the cap a delay changes nothing any more, and four times as much must not overflow.
    private static func bounded(_ delay: TimeAmount) -> TimeAmount { min(max(delay, .zero), .hours(1)) }

    /// Halves the longest delay for every hour in which no longer one was seen.
    package mutating func decay(now: NIODeadline) {
        guard let seenAt, now - seenAt >= Self.halfLife else { return }
        let hours = (now - seenAt).nanoseconds / Self.halfLife.nanoseconds
        self.longest = .nanoseconds(self.longest.nanoseconds >> min(hours, 63))
        self.suspected = .nanoseconds(self.suspected.nanoseconds >> min(hours, 63))
        self.seenAt = seenAt + .nanoseconds(hours * Self.halfLife.nanoseconds)
    }
}

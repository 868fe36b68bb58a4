internal import FerryCore
package import NIOCore
internal import Synchronization

/// The delay of error responses, and the settle time that follows from it.
package struct ErrorDelay {
    /// The largest settle time.
    static let settleTimeCap: TimeAmount = .seconds(10)
    /// The shortest wait for silence after a suspect notification.
    static let quietFloor: TimeAmount = .milliseconds(50)
    /// The shortest time for which settled notifications are kept, if there is room.
    static let memoryFloor: TimeAmount = .seconds(10)
    static let halfLife: TimeAmount = .hours(1)

    let settleTimeFloor: TimeAmount
    /// The longest time from the write of a notification to the error response that refused it.
    private(set) var longest: TimeAmount = .zero
    /// The longest possible delay of a response without a name: the age of the oldest notification that may be meant.
    private var suspected: TimeAmount = .zero
    private var seenAt: NIODeadline?
    /// The number of changes so far by all clients that share the delay.
    fileprivate var version = 0

    package init(settleTime: Duration) {
        self.settleTimeFloor = max(TimeAmount(settleTime), .zero)
    }

    package var settleTime: TimeAmount {
        let longest = max(self.longest, self.suspected)
        return max(self.settleTimeFloor, min(.nanoseconds(longest.nanoseconds / 2 * 3), Self.settleTimeCap))
    }

    /// The first wait for silence after a suspect.
    var quietTime: TimeAmount {
        min(max(Self.quietFloor, .nanoseconds(self.longest.nanoseconds * 4)), Self.settleTimeCap)
    }

    /// The silence about a window of suspects before its probe. Until a delay is measured it is a whole settle time,
    /// because a gateway may answer a probe at once and refuse tokens later.
    var probeQuietTime: TimeAmount { self.longest > .zero ? min(self.quietTime, self.settleTime) : self.settleTime }

    /// How long settled notifications are remembered.
    var memory: TimeAmount { max(Self.memoryFloor, .nanoseconds(self.longest.nanoseconds * 4)) }

    package mutating func saw(_ delay: TimeAmount, now: NIODeadline) {
        let delay = Self.bounded(delay)
        if delay >= self.longest {
            self.longest = delay
            self.seenAt = now
        }
    }

    /// Notes the delay of the response to a culprit that a search found.
    ///
    /// A delay far below the suspected one halves the suspicion. Otherwise a gateway that names nothing and answers at
    /// once would keep the settle time at its cap. The suspicion is not dropped at once, because another response may
    /// still be late.
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

    /// Bounds a delay. Above the cap a longer delay has no effect, and four times the delay must not overflow.
    private static func bounded(_ delay: TimeAmount) -> TimeAmount { min(max(delay, .zero), .hours(1)) }

    /// Halves the longest delay for every hour without a longer one.
    package mutating func decay(now: NIODeadline) {
        guard let seenAt, now - seenAt >= Self.halfLife else { return }
        let hours = (now - seenAt).nanoseconds / Self.halfLife.nanoseconds
        self.longest = .nanoseconds(self.longest.nanoseconds >> min(hours, 63))
        self.suspected = .nanoseconds(self.suspected.nanoseconds >> min(hours, 63))
        self.seenAt = seenAt + .nanoseconds(hours * Self.halfLife.nanoseconds)
    }
}

/// The delay of a gateway's error responses, which all clients of a provider share. Any thread may use it.
///
/// One event loop may see a late response while another counts silence as acceptance. Without the shared delay, the
/// other would settle too early.
final class KnownErrorDelay: Sendable {
    private let delay: Locked<ErrorDelay>
    private let version = Atomic(0)

    init(settleTime: Duration) {
        self.delay = Locked(ErrorDelay(settleTime: settleTime))
    }

    var current: ErrorDelay { self.delay.withLock { $0 } }

    /// Changes the delay, and returns the new one.
    func update(now: NIODeadline, _ change: (inout ErrorDelay) -> Void) -> ErrorDelay {
        self.delay.withLock { delay in
            delay.decay(now: now)
            change(&delay)
            delay.version += 1
            self.version.store(delay.version, ordering: .releasing)
            return delay
        }
    }

    /// Returns the delay if it is newer than `known`. If it is not, the call costs one atomic read.
    func changed(since known: ErrorDelay) -> ErrorDelay? {
        self.version.load(ordering: .acquiring) == known.version ? nil : self.current
    }
}

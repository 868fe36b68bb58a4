package import NIOCore
internal import Synchronization

/// The right of a process to send notifications, and error responses about them. It ends at a time, unless its owner
/// extends it before.
///
/// Another process may have the store of a gateway that was paused or cut off. Without the right, it would send each
/// notification a second time.
///
/// All times are those of ``Moment/boot``. Any thread may use the object.
package final class ForwardingRight: Sendable {
    /// The right without end, for a process whose store nobody else can take.
    package static let endless = ForwardingRight(until: .distantFuture)

    private let end: Atomic<UInt64>
    private let tellingEnd: Atomic<UInt64>
    private let sent = Atomic(0)

    /// - Parameter end: the end of the right. By default the process does not have it yet.
    package init(until end: NIODeadline = .distantPast) {
        self.end = Atomic(end.uptimeNanoseconds)
        self.tellingEnd = Atomic(end.uptimeNanoseconds)
    }

    /// Sets the ends of both rights. An end in the past takes the right back.
    ///
    /// - Parameters:
    ///   - end: the end of the right to send notifications.
    ///   - telling: the end of the right to send error responses; nil if it is the same.
    package func set(until end: NIODeadline, telling: NIODeadline? = nil) {
        self.end.store(end.uptimeNanoseconds, ordering: .releasing)
        self.tellingEnd.store((telling ?? end).uptimeNanoseconds, ordering: .releasing)
    }

    /// The end of the right to send notifications.
    package var until: NIODeadline { .uptimeNanoseconds(self.end.load(ordering: .acquiring)) }

    /// Whether the right never ends, so that nobody need look at a clock.
    package var isEndless: Bool { self.until == .distantFuture }

    /// Whether notifications may be sent. Cost: one atomic load.
    package func isHeld(at now: NIODeadline) -> Bool { now < self.until }

    /// Whether error responses may be sent.
    package func mayTell(at now: NIODeadline) -> Bool {
        now < .uptimeNanoseconds(self.tellingEnd.load(ordering: .acquiring))
    }

    // MARK: Sent without the right

    /// Counts notifications that were written after the end of the right, because it ended between the check and the
    /// write.
    package func noteSent(_ count: Int) { self.sent.add(count, ordering: .relaxed) }

    /// The number of notifications that were written after the end of the right.
    package var sentWithoutRight: Int { self.sent.load(ordering: .relaxed) }
}

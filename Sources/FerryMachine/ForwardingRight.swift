package import NIOCore
internal import Synchronization

/// The right of a process to send notifications, and error responses about them. It ends at a set time. The store extends it
/// while the process is the owner.
///
/// A gateway that was paused, or that does not reach its store, may have lost the store to another process. If its right did
/// not end, both processes would send the same notifications.
///
/// Any thread may use the object.
package final class ForwardingRight: Sendable {
    /// The endless right of a process whose store no other process can take.
    package static let endless = ForwardingRight(until: .distantFuture) { .distantPast }

    private let end: Atomic<UInt64>
    private let tellingEnd: Atomic<UInt64>
    private let sent = Atomic(0)
    private let clock: @Sendable () -> NIODeadline

    /// Makes a right that has ended.
    ///
    /// - Parameter clock: returns the present time. The clock must go on while the computer sleeps.
    package convenience init(clock: @escaping @Sendable () -> NIODeadline) {
        self.init(until: .distantPast, clock: clock)
    }

    private init(until end: NIODeadline, clock: @escaping @Sendable () -> NIODeadline) {
        self.end = Atomic(end.uptimeNanoseconds)
        self.tellingEnd = Atomic(end.uptimeNanoseconds)
        self.clock = clock
    }

    // MARK: The owner

    /// Sets the ends of both rights, by the object's clock. An end in the past takes a right away.
    ///
    /// - Parameters:
    ///   - end: the end of the right to send notifications.
    ///   - telling: the end of the right to send error responses; nil if it is the same.
    package func set(until end: NIODeadline, telling: NIODeadline? = nil) {
        self.end.store(end.uptimeNanoseconds, ordering: .releasing)
        self.tellingEnd.store((telling ?? end).uptimeNanoseconds, ordering: .releasing)
    }

    /// The number of notifications that were written after the end of the right.
    package var sentWithoutRight: Int { self.sent.load(ordering: .relaxed) }

    // MARK: Senders

    /// Whether the right never ends.
    package var isEndless: Bool { self.end.load(ordering: .acquiring) == NIODeadline.distantFuture.uptimeNanoseconds }

    /// Whether notifications may be sent. Costs one atomic load, and a look at the clock unless the right is endless.
    package var isHeld: Bool { self.isHeld(until: self.end.load(ordering: .acquiring)) }

    /// Whether error responses may be sent.
    package var mayTell: Bool { self.isHeld(until: self.tellingEnd.load(ordering: .acquiring)) }

    private func isHeld(until end: UInt64) -> Bool {
        end == NIODeadline.distantFuture.uptimeNanoseconds || self.clock().uptimeNanoseconds < end
    }

    /// The time for which the right is still held: 24 hours for the endless right, zero without a right.
    package var left: TimeAmount {
        guard !self.isEndless else { return .hours(24) }
        return max(.uptimeNanoseconds(self.end.load(ordering: .acquiring)) - self.clock(), .zero)
    }

    /// Counts notifications that were written although the right ended between the check and the write.
    package func noteSent(_ count: Int) { self.sent.add(count, ordering: .relaxed) }
}

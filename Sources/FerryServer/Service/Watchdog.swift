package import NIOCore

/// A timer that tells the service manager again and again that an event loop turns. When the loop hangs, the notices
/// stop, and the manager ends the process.
///
/// The watchdog watches the event loop alone, and never the store: a kill while the store hangs would lose
/// notifications that were read and not stored.
package final class Watchdog: Sendable {
    /// The number of notices within the time that the manager allows. With three, a lost notice does not end the
    /// process.
    private static let notices: Int64 = 3

    private let task: RepeatedTask

    /// The time between two notices: a third of `limit`, at least 1 ms.
    ///
    /// - Parameter limit: the time that the process may be silent.
    package static func interval(_ limit: Duration) -> TimeAmount {
        max(.nanoseconds(TimeAmount(limit).nanoseconds / Self.notices), .milliseconds(1))
    }

    /// Begins to send notices from the event loop.
    package init(of eventLoop: any EventLoop, limit: Duration, _ notifier: ServiceNotifier) {
        self.task = eventLoop.scheduleRepeatedTask(initialDelay: .zero, delay: Self.interval(limit)) { _ in
            notifier.send(.watchdog)
        }
    }

    /// Ends the notices.
    package func stop() { self.task.cancel() }
}

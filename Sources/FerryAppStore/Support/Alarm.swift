internal import NIOCore
internal import NIOPosix

/// A call at a later time, which can be cancelled. Any thread may use it.
///
/// Each notification starts and cancels an alarm. A cancelled `Task.sleep` would keep 130 bytes for ever (Swift 6.3 on
/// Linux).
struct Alarm: Sendable {
    private let task: Scheduled<Void>

    /// Calls `body` once after `limit`, on an event loop. `body` must not block.
    init(after limit: Duration, _ body: @escaping @Sendable () -> Void) {
        self.task = MultiThreadedEventLoopGroup.singleton.any().scheduleTask(in: TimeAmount(limit), body)
    }

    func cancel() { self.task.cancel() }
}

internal import NIOCore

/// Reports the end of an event loop from its `deinit`. Only the loop holds a reference, and drops it when the loop
/// ends. A loop that has ended before drops it at once, inside the call that schedules the watch.
final class LoopWatch: NIOScheduledCallbackHandler, Sendable {
    private let ended: @Sendable () -> Void

    /// - Parameter ended: called once, on the loop's thread. If the loop had ended before, on the caller's thread.
    init(_ ended: @escaping @Sendable () -> Void) {
        self.ended = ended
    }

    deinit { self.ended() }

    func handleScheduledCallback(eventLoop: some EventLoop) {}
}

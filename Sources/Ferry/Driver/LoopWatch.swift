internal import NIOCore

/// Tells when an event loop runs nothing any more, by being dropped: it belongs to the loop alone, which lets go of it
/// when it ends. A loop that has ended already does so at once, within the call that schedules the watch.
final class LoopWatch: NIOScheduledCallbackHandler, Sendable {
    private let ended: @Sendable () -> Void

    /// - Parameter ended: called once, on the loop's thread, or on the caller's when the loop had ended before.
    init(_ ended: @escaping @Sendable () -> Void) {
        self.ended = ended
    }

    deinit { self.ended() }

    func handleScheduledCallback(eventLoop: some EventLoop) {}
}

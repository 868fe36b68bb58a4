internal import FerryCore
internal import NIOCore
internal import NIOPosix

/// Writes messages to standard error on a thread of its own.
///
/// A standard error that nobody reads blocks its writer. A server that writes in the middle of its work would then answer
/// nobody.
final class MessageWriter: Sendable {
    private struct State {
        var waiting = 0
        var dropped = 0
    }

    /// How many messages may wait. Further ones are dropped and counted.
    private static let limit = 1000

    /// The writer of this process.
    static let shared = MessageWriter()

    private let thread = NIOThreadPool(numberOfThreads: 1)
    private let state = Locked(State())

    private init() { self.thread.start() }

    /// Has a message written soon. Never waits.
    func write(_ message: String) {
        let isTaken = self.state.withLock { state in
            guard state.waiting < Self.limit else {
                state.dropped += 1
                return false
            }
            state.waiting += 1
            return true
        }
        guard isTaken else { return }
        self.thread.submit { _ in
            Console.error(message)
            let dropped = self.state.withLock { state in
                state.waiting -= 1
                defer { state.dropped = 0 }
                return state.dropped
            }
            if dropped > 0 { Console.error("ferry: standard error was not read, and \(dropped) messages were dropped") }
        }
    }

    /// Waits until the messages so far are written, for at most `limit`.
    func flush(within limit: Duration) async {
        await withCheckedContinuation { continuation in
            let waiting = Locked<CheckedContinuation<Void, Never>?>(continuation)
            let goOn: @Sendable () -> Void = {
                waiting.withLock { waiting in
                    defer { waiting = nil }
                    return waiting
                }?.resume()
            }
            self.thread.submit { _ in goOn() }
            MultiThreadedEventLoopGroup.singleton.any().scheduleTask(in: TimeAmount(limit), goOn)
        }
    }
}

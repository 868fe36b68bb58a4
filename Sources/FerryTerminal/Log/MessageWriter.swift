internal import FerryCore
internal import FerryPlatform
internal import NIOCore
internal import NIOPosix

/// A writer of messages to standard error, with its own thread. Servers and all code on event loops use it.
///
/// A standard error that nobody reads blocks its writer. A server that waits there in the middle of its work would
/// answer no client.
package final class MessageWriter: Sendable {
    private struct State {
        var count = 0
        var length = 0
        /// The number of messages that were dropped since the last line that reported dropped messages.
        var unsaid = 0
        var dropped = 0
    }

    /// The largest number of messages that wait. Further messages are dropped and counted.
    package static let limit = 1000
    /// The largest length of all waiting messages together, in bytes.
    package static let lengthLimit = 1 << 20

    /// The writer of this process.
    package static let shared = MessageWriter()

    private let thread = NIOThreadPool(numberOfThreads: 1)
    private let state = Locked(State())
    private let say: @Sendable (String) -> Void

    /// - Parameter say: writes a line. It may block.
    package init(say: @escaping @Sendable (String) -> Void = { Console.error($0) }) {
        self.say = say
        self.thread.start()
    }

    /// The number of messages that were dropped since the start, because nobody read standard error. Any thread may
    /// read it.
    package var dropped: Int { self.state.withLock { $0.dropped } }

    /// Queues a message in the form of ``LogPolicy/current``. Never waits.
    package func write(_ message: LogMessage) {
        guard let line = LogPolicy.current.line(message, at: .now) else { return }
        self.write(line)
    }

    /// Queues a line as it is. Never waits.
    func write(_ line: String) {
        let length = line.utf8.count
        let isTaken = self.state.withLock { state in
            guard state.count < Self.limit, state.length + length <= Self.lengthLimit else {
                state.unsaid += 1
                state.dropped += 1
                return false
            }
            state.count += 1
            state.length += length
            return true
        }
        guard isTaken else { return }
        self.thread.submit { _ in
            self.say(line)
            let unsaid = self.state.withLock { state in
                state.count -= 1
                state.length -= length
                defer { state.unsaid = 0 }
                return state.unsaid
            }
            guard unsaid > 0 else { return }
            let message = LogMessage(
                ServerLogEvent.messagesDropped,
                .warning,
                "standard error was not read, and \(unsaid) messages were dropped",
                [.count: .number(unsaid)]
            )
            if let line = LogPolicy.current.line(message, at: .now) { self.say(line) }
        }
    }

    /// Waits until the queued messages are written, for at most `limit`.
    package func flush(within limit: Duration) async {
        await withCheckedContinuation { continuation in
            let waiting = Locked<CheckedContinuation<Void, Never>?>(continuation)
            let goOn: @Sendable () -> Void = {
                waiting.withLock { $0.take() }?.resume()
            }
            self.thread.submit { _ in goOn() }
            MultiThreadedEventLoopGroup.singleton.any().scheduleTask(in: TimeAmount(limit), goOn)
        }
    }
}

internal import FerryCore
internal import FerryTerminal
internal import NIOCore
internal import NIOPosix

/// Writes messages to standard error on its own thread. Servers and all code on event loops write here.
///
/// If nobody reads standard error, a write blocks. A server that writes in the middle of its work would then stop.
final class MessageWriter: Sendable {
    private struct State {
        var count = 0
        var length = 0
        var dropped = 0
    }

    /// The largest number of waiting messages, and their largest size together. Further ones are dropped and counted.
    static let limit = 1000
    static let lengthLimit = 1 << 20

    /// The writer of this process.
    static let shared = MessageWriter()

    private let thread = NIOThreadPool(numberOfThreads: 1)
    private let state = Locked(State())
    private let say: @Sendable (String) -> Void

    /// - Parameter say: writes a message, for as long as it takes.
    init(say: @escaping @Sendable (String) -> Void = { Console.error($0) }) {
        self.say = say
        self.thread.start()
    }

    /// Schedules a message to be written. Never waits.
    @Sendable func write(_ message: String) {
        let length = message.utf8.count
        let isTaken = self.state.withLock { state in
            guard state.count < Self.limit, state.length + length <= Self.lengthLimit else {
                state.dropped += 1
                return false
            }
            state.count += 1
            state.length += length
            return true
        }
        guard isTaken else { return }
        self.thread.submit { _ in
            self.say(message)
            let dropped = self.state.withLock { state in
                state.count -= 1
                state.length -= length
                defer { state.dropped = 0 }
                return state.dropped
            }
            if dropped > 0 { self.say("ferry: standard error was not read, and \(dropped) messages were dropped") }
        }
    }

    /// Waits until the messages so far are written, for at most `limit`.
    func flush(within limit: Duration) async {
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

extension ListeningCommand {
    /// Runs a server, and writes why it failed. The process ends even if nobody reads standard error.
    func reportingFailure(of body: () async throws -> Void) async throws {
        do {
            try await body()
        } catch let failure as CommandFailure {
            MessageWriter.shared.write("ferry: \(failure.message)")
            await MessageWriter.shared.flush(within: .seconds(1))
            throw failure.status
        }
    }
}

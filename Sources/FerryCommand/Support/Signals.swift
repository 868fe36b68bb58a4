internal import Dispatch
internal import FerryPlatform
internal import Synchronization

/// Listens to SIGINT, SIGTERM and SIGHUP while it lives. If SIGHUP was ignored at the start of the program, as under
/// `nohup`, it stays ignored.
///
/// Unchecked, because Dispatch does not mark its sources as Sendable although any thread may use them. They are set
/// once.
final class Signals: @unchecked Sendable {
    private static let numbers = [SIGINT, SIGTERM] + (SystemCalls.isIgnored(SIGHUP) ? [] : [SIGHUP])
    /// The number of signals that are handled. The next one ends the process by its default action.
    private static let heard = 2

    private let sources: [any DispatchSourceSignal]

    /// Begins to listen. Before the return a signal ends the process, so no signal is lost.
    ///
    /// - Parameter handler: called on a separate queue, with 1 at the first signal and 2 at the second.
    init(_ handler: @escaping @Sendable (Int) -> Void) {
        let queue = DispatchQueue(label: "ferry.signals")
        let counter = Counter()
        let listening = DispatchGroup()
        self.sources = Self.numbers.map { number in
            listening.enter()
            let source = DispatchSource.makeSignalSource(signal: number, queue: queue)
            source.setRegistrationHandler {
                SystemCalls.observed(number)
                listening.leave()
            }
            source.setEventHandler {
                let count = counter.next()
                if count == Self.heard { Self.numbers.forEach { signal($0, SIG_DFL) } }
                if count <= Self.heard { handler(count) }
            }
            return source
        }
        for source in self.sources { source.resume() }
        listening.wait()
    }

    deinit {
        for source in self.sources { source.cancel() }
    }

    /// Calls `announce`, which tells other processes that they may send a signal, then waits for the first signal.
    static func wait(_ announce: () async throws -> Void) async rethrows {
        let (stream, continuation) = AsyncStream.makeStream(of: Void.self)
        let signals = Signals { _ in continuation.finish() }
        try await announce()
        for await _ in stream {}
        withExtendedLifetime(signals) {}
    }

    /// Makes a write to a closed connection fail with an error. By default it would end the process.
    static func ignoreBrokenPipes() {
        signal(SIGPIPE, SIG_IGN)
    }

    private final class Counter: Sendable {
        private let count = Atomic<Int>(0)

        func next() -> Int { self.count.add(1, ordering: .relaxed).newValue }
    }
}

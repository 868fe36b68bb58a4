internal import Dispatch
internal import FerryPlatform
internal import Synchronization

/// Listens to SIGINT, SIGTERM and SIGHUP while it lives. If SIGHUP was ignored at the start of the program, as under
/// `nohup`, it stays ignored.
final class Signals: Sendable {
    private static let hangUp = SystemCalls.isIgnored(SIGHUP) ? [] : [SIGHUP]
    private static let ends = [SIGINT, SIGTERM]
    /// The number of signals that are handled. The next one ends the process by its default action.
    private static let heard = 2

    private let sources: SignalSources

    /// Begins to listen. Before the return a signal ends the process, so no signal is lost.
    ///
    /// - Parameters:
    ///   - hangUpEnds: whether SIGHUP counts like the others. If not, ``eachHangUp(_:)`` has it.
    ///   - handler: called on a separate queue, with 1 at the first signal and 2 at the second.
    init(hangUpEnds: Bool = true, _ handler: @escaping @Sendable (Int) -> Void) {
        let numbers = Self.ends + (hangUpEnds ? Self.hangUp : [])
        let counter = Counter()
        self.sources = SignalSources(of: numbers) {
            let count = counter.next()
            if count == Self.heard { numbers.forEach { signal($0, SIG_DFL) } }
            if count <= Self.heard { handler(count) }
        }
    }

    /// Calls `announce`, which tells other processes that they may send a signal, then waits for the first signal that
    /// ends the program.
    static func wait(hangUpEnds: Bool = true, _ announce: () async throws -> Void) async rethrows {
        let (stream, continuation) = AsyncStream.makeStream(of: Void.self)
        let signals = Signals(hangUpEnds: hangUpEnds) { _ in continuation.finish() }
        try await announce()
        for await _ in stream {}
        withExtendedLifetime(signals) {}
    }

    /// Calls `handler` on a separate queue at each SIGHUP, while the result lives.
    static func eachHangUp(_ handler: @escaping @Sendable () -> Void) -> SignalSources {
        SignalSources(of: self.hangUp, handler)
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

/// Calls a closure at each of some signals while it lives.
///
/// Unchecked, because Dispatch does not mark its sources as Sendable although any thread may use them. They are set
/// once.
final class SignalSources: @unchecked Sendable {
    private let sources: [any DispatchSourceSignal]

    /// Begins to listen before it returns.
    ///
    /// - Parameter handler: called on a separate queue.
    init(of signals: [Int32], _ handler: @escaping @Sendable () -> Void) {
        let queue = DispatchQueue(label: "ferry.signals")
        let listening = DispatchGroup()
        self.sources = signals.map { number in
            listening.enter()
            let source = DispatchSource.makeSignalSource(signal: number, queue: queue)
            source.setRegistrationHandler {
                SystemCalls.observed(number)
                listening.leave()
            }
            source.setEventHandler { handler() }
            return source
        }
        for source in self.sources { source.resume() }
        listening.wait()
    }

    deinit {
        for source in self.sources { source.cancel() }
    }
}

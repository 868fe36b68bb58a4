internal import Dispatch
internal import Synchronization

#if canImport(Glibc)
internal import Glibc
#elseif canImport(Musl)
internal import Musl
#else
internal import Darwin
#endif

/// Listens to SIGINT, SIGTERM and SIGHUP for as long as it lives. A SIGHUP that was ignored when the program began, as
/// under `nohup`, stays ignored.
///
/// Unchecked because Dispatch's sources, which may be used from any thread, do not say so; they are set once.
final class Signals: @unchecked Sendable {
    private static let numbers = [SIGINT, SIGTERM] + (isIgnored(SIGHUP) ? [] : [SIGHUP])
    /// The signal after these ends the process as if nobody listened.
    private static let heard = 2

    private let sources: [any DispatchSourceSignal]

    /// Returns when it listens: until then a signal ends the process, and none is lost.
    ///
    /// - Parameter handler: called on a queue of its own with 1 at the first signal, and 2 at the second.
    init(_ handler: @escaping @Sendable (Int) -> Void) {
        let queue = DispatchQueue(label: "ferry.signals")
        let counter = Counter()
        let listening = DispatchGroup()
        self.sources = Self.numbers.map { number in
            listening.enter()
            let source = DispatchSource.makeSignalSource(signal: number, queue: queue)
            source.setRegistrationHandler {
                #if canImport(Darwin)
                // Dispatch only looks on there. On Linux its own handler is in place now.
                signal(number, SIG_IGN)
                #endif
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

    /// Runs `announce`, which tells others that they may send a signal now, then waits for the first.
    static func wait(_ announce: () throws -> Void) async rethrows {
        let (stream, continuation) = AsyncStream.makeStream(of: Void.self)
        let signals = Signals { _ in continuation.finish() }
        try announce()
        for await _ in stream {}
        withExtendedLifetime(signals) {}
    }

    private static func isIgnored(_ number: Int32) -> Bool {
        var action = sigaction()
        guard sigaction(number, nil, &action) == 0 else { return false }
        #if canImport(Darwin)
        let handler = action.__sigaction_u.__sa_handler
        #else
        let handler = action.__sigaction_handler.sa_handler
        #endif
        return unsafeBitCast(handler, to: UInt.self) == unsafeBitCast(SIG_IGN, to: UInt.self)
    }

    /// A peer that is gone is an error of the write, not the end of the process.
    static func ignoreBrokenPipes() {
        signal(SIGPIPE, SIG_IGN)
    }

    private final class Counter: Sendable {
        private let count = Atomic<Int>(0)

        func next() -> Int { self.count.add(1, ordering: .relaxed).newValue }
    }
}

internal import FerryCore
internal import Synchronization

#if canImport(Glibc)
internal import Glibc
#elseif canImport(Musl)
internal import Musl
#else
internal import Darwin
#endif

/// The library's part of `exit`: it sends what is left, for as long as the option `atExit` says, and then stops its threads for
/// good. OpenSSL frees its memory at exit, and a thread that still used it would crash.
///
/// The work is done by a thread of its own. `exit` may have come in the middle of a call that holds a lock: then that thread
/// waits in vain, and the process ends all the same.
enum ExitDrain {
    /// The time in milliseconds for everything but sending.
    private static let margin: Int64 = 500
    /// The time in milliseconds that a line may take.
    private static let sayLimit: Int64 = 100

    private static let registration: Int32 = atexit { ExitDrain.run() }

    /// Registers the end with the system, once in a process and its children. OpenSSL must have been used before: what is
    /// registered first runs last.
    static func register() { _ = self.registration }

    /// The longest time in milliseconds that a handle of this process wants.
    private static let longest = Atomic<Int64>(0)

    /// Notes how long a handle wants the end of the process to wait.
    static func note(_ limit: Duration) {
        _ = self.longest.max(limit.milliseconds, ordering: .relaxed)
    }

    // On the thread that ends the process nothing may wait for a lock of the library: it may hold the lock itself.
    private static func run() {
        let isOver = Monitor(false)
        let hasStarted = OwnThread.start {
            let (threads, endings) = LibraryState.shared.withLock { ($0.runningThreads, $0.endingsAtExit) }
            Self.tell(Self.finish(endings))
            FeedbackWriter.flushAll()
            if let threads { ThreadRest(threads).begin(milliseconds: ForkGate.limit) }
            isOver.withLock { $0 = true }
            isOver.signal()
        }
        let limit = self.longest.load(ordering: .relaxed) + Self.margin + FeedbackWriter.patience
        guard hasStarted, isOver.wait(milliseconds: limit, until: { $0 }) else { return Self.say(Self.inUse) }
    }

    /// Ends all, and returns what was lost.
    private static func finish(_ endings: [Ending]) -> (undelivered: Int, uncertain: Int) {
        for ending in endings { ending.begin() }
        for ending in endings { ending.wait(milliseconds: ending.limit.milliseconds + Self.margin / 2) }
        return endings.map(\.losses).reduce((0, 0)) { ($0.0 + $1.undelivered, $0.1 + $1.uncertain) }
    }

    private static let inUse = "ferry: the library was in use when the process ended. What was not sent is lost."

    private static func tell(_ losses: (undelivered: Int, uncertain: Int)) {
        guard losses.undelivered + losses.uncertain > 0 else { return }
        self.say(
            "ferry: at the end of the process, \(losses.undelivered) notifications were not delivered, and \(losses.uncertain) "
                + "may have been."
        )
    }

    /// Writes a line to standard error. A pipe that nobody reads would keep the process from its end, so a thread of its own
    /// writes, and the end waits for ``sayLimit`` only.
    private static func say(_ line: String) {
        let bytes = Array((line + "\n").utf8)
        let isSaid = Monitor(false)
        let hasStarted = OwnThread.start {
            _ = write(STDERR_FILENO, bytes, bytes.count)
            isSaid.withLock { $0 = true }
            isSaid.signal()
        }
        if hasStarted { _ = isSaid.wait(milliseconds: self.sayLimit, until: { $0 }) }
    }
}

extension Duration {
    /// Whole milliseconds, rounded up.
    var milliseconds: Int64 {
        let (seconds, attoseconds) = self.components
        let (product, isTooLong) = seconds.multipliedReportingOverflow(by: 1000)
        return isTooLong ? .max / 2 : product + (attoseconds + 999_999_999_999_999) / 1_000_000_000_000_000
    }
}

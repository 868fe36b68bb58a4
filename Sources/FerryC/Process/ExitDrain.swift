internal import FerryCore
internal import FerryOpenSSL
internal import FerryPlatform
internal import Synchronization

/// The library's part in `exit`. It sends the remaining notifications for as long as the option `atExit` allows, and
/// then stops the library's threads for good. OpenSSL frees its memory at exit, and a thread that still used it would
/// crash.
///
/// A separate thread does the work, because `exit` may have interrupted a call that holds a lock. The thread then waits
/// for ever, and the process still ends.
enum ExitDrain {
    /// The time for all work except sending and writing the feedback file, in milliseconds.
    private static let margin: Int64 = 500
    /// The longest time for writing a line, in milliseconds.
    private static let sayLimit: Int64 = 100

    private static let registration: Int32 = {
        // Exit handlers run in the reverse order of their registration. Without this line, a first handle without
        // OpenSSL would register our handler before that of OpenSSL. Our handler would then run last, and send with
        // memory that OpenSSL has freed.
        OpenSSLMemory.registerExitHandler()
        return atexit { ExitDrain.run() }
    }()

    /// Registers the exit handler, once for a process and its children.
    static func register() { _ = self.registration }

    /// The longest option `atExit` of all handles so far, in milliseconds. A child of `fork` begins with its parent's
    /// value.
    private static let longest = Atomic<Int64>(0)

    /// Notes the time that a handle wants the end of the process to wait.
    static func note(_ limit: Duration) {
        _ = self.longest.max(limit.milliseconds, ordering: .relaxed)
    }

    // The exiting thread must not wait for a lock of the library, because it may hold that lock itself.
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

    /// Carries out `endings` at the same time, and returns the numbers of lost notifications.
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

    /// Writes a line to standard error. A full pipe that nobody reads would keep the process from its end. So a
    /// separate thread writes, and the end of the process waits for ``sayLimit`` only.
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
    /// The duration in whole milliseconds, rounded up.
    var milliseconds: Int64 {
        let (seconds, attoseconds) = self.components
        let (product, isTooLong) = seconds.multipliedReportingOverflow(by: 1000)
        return isTooLong ? .max / 2 : product + (attoseconds + 999_999_999_999_999) / 1_000_000_000_000_000
    }
}

internal import CFerry
internal import FerryPlatform

/// The wait of a caller for a handle.
enum Waiting {
    /// The pause between two checks while `poll` fails, in microseconds.
    private static let pause: UInt32 = 10_000

    /// Calls `ready` until its result is not 0, and returns the result. Returns 0 when the time is over, and
    /// `FERRY_EINTR` after a signal. A negative number of milliseconds means no limit.
    ///
    /// - Parameters:
    ///   - descriptor: is readable while `ready` is not 0.
    ///   - endsAtSignal: whether a signal ends the wait.
    static func wait(
        on descriptor: Int32,
        milliseconds: Int64,
        endsAtSignal: Bool = true,
        until ready: () -> Int32
    ) -> Int32 {
        let start = Self.now
        while true {
            let bits = ForkGate.pass(ready)
            if bits != 0 || milliseconds == 0 { return bits }
            let left = milliseconds < 0 ? -1 : milliseconds - (Self.now - start)
            if milliseconds > 0, left <= 0 { return 0 }
            // The wait is outside the gate, because a fork need not wait for a caller that waits.
            var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            guard poll(&entry, 1, Int32(clamping: left)) < 0 else { continue }
            if errno == EINTR, endsAtSignal { return FERRY_EINTR }
            // If the limit on descriptors was lowered, every `poll` fails at once. Without this pause, the loop would
            // use a whole core.
            if errno != EINTR { usleep(Self.pause) }
        }
    }

    private static var now: Int64 {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000
    }
}

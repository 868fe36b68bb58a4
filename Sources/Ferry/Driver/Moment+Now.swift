internal import FerryMachine
internal import FerryPlatform
internal import NIOCore

extension Moment {
    /// The current time of all clocks.
    static var now: Moment {
        Moment(monotonic: .now(), epochSeconds: UInt32(clamping: time(nil)), boot: self.boot)
    }

    /// The time since the computer was started, with the time in which it slept. Nil if the system does not say.
    private static var boot: NIODeadline? {
        #if os(Linux)
        var time = timespec()
        guard clock_gettime(CLOCK_BOOTTIME, &time) == 0 else { return nil }
        return .uptimeNanoseconds(UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec))
        #else
        return nil
        #endif
    }
}

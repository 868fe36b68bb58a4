internal import FerryPlatform

/// A notice of a process to its service manager, in the format of `sd_notify(3)`.
package enum ServiceNotice: Hashable, Sendable {
    /// The process does its work from now on. The manager then starts the units that wait for this process.
    case ready(status: String)
    /// The process reads its configuration again. Send ``ready(status:)`` when the reload has ended.
    ///
    /// - Parameter microseconds: the time of `CLOCK_MONOTONIC` at which the reload began.
    case reloading(microseconds: UInt64)
    /// The process ends.
    case stopping(status: String)
    /// One sentence about the process, which the manager shows.
    case status(String)
    /// The process is alive.
    case watchdog

    /// The datagram: a variable on each line.
    package var text: String {
        switch self {
        case .ready(let status): "READY=1\nSTATUS=\(Self.line(status))"
        case .reloading(let microseconds): "RELOADING=1\nMONOTONIC_USEC=\(microseconds)"
        case .stopping(let status): "STOPPING=1\nSTATUS=\(Self.line(status))"
        case .status(let status): "STATUS=\(Self.line(status))"
        case .watchdog: "WATCHDOG=1"
        }
    }

    /// Returns a text without line breaks, because a line break would begin another variable.
    private static func line(_ text: String) -> String {
        String(text.map { $0.isNewline ? " " : $0 })
    }

    /// A reload that begins now.
    package static var reloadingNow: ServiceNotice {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return .reloading(microseconds: UInt64(time.tv_sec) * 1_000_000 + UInt64(time.tv_nsec) / 1000)
    }
}

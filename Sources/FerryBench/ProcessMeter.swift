internal import FerryPlatform
internal import FerryTerminal

/// The system's figures about this process.
enum ProcessMeter {
    /// Processor time of all threads, in seconds.
    static var processTime: Double { self.time(CLOCK_PROCESS_CPUTIME_ID) }

    /// Processor time of the calling thread, in seconds.
    static var threadTime: Double { self.time(CLOCK_THREAD_CPUTIME_ID) }

    /// A monotonic clock, in nanoseconds.
    static var now: UInt64 {
        var value = timespec()
        clock_gettime(CLOCK_MONOTONIC, &value)
        return UInt64(value.tv_sec) * 1_000_000_000 + UInt64(value.tv_nsec)
    }

    /// Resets the peak of resident memory. Only Linux can.
    static func resetPeak() {
        guard let file = try? FileDescriptor.writing("/proc/self/clear_refs") else { return }
        try? file.write("5\n")
    }

    /// The peak of resident memory in MiB. Nil if the system does not report it.
    static var peak: Double? {
        guard let status = try? Data(contentsOf: URL(filePath: "/proc/self/status")) else { return nil }
        for line in String(decoding: status, as: UTF8.self).split(separator: "\n") where line.hasPrefix("VmHWM:") {
            let kibibytes = line.split(whereSeparator: \.isWhitespace).dropFirst().first.flatMap { Double($0) }
            return kibibytes.map { $0 / 1024 }
        }
        return nil
    }

    private static func time(_ clock: clockid_t) -> Double {
        var value = timespec()
        clock_gettime(clock, &value)
        return Double(value.tv_sec) + Double(value.tv_nsec) * 1e-9
    }
}

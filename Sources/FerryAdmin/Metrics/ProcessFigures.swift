internal import FerryPlatform

/// The system's figures for this process, under the names that Prometheus' own clients use.
///
/// They exist on Linux only, and come from `/proc` (proc(5)).
package struct ProcessFigures: Hashable, Sendable {
    /// The user and system time together, in seconds.
    package var cpuSeconds = 0.0
    package var residentBytes = 0
    package var virtualBytes = 0
    package var openDescriptors = 0
    package var descriptorLimit = 0
    /// The start of the process, in UNIX seconds.
    package var startedAt = 0.0

    /// Reads the figures of this moment; nil if the system does not report them.
    package static var current: ProcessFigures? {
        guard let stat = self.contents("/proc/self/stat", longest: 4096),
            // The name of the program is in parentheses, and may have spaces.
            let end = stat.lastIndex(of: ")")
        else { return nil }
        let fields = stat[end...].split(separator: " ").dropFirst().map(String.init)
        let ticks = Double(sysconf(Int32(_SC_CLK_TCK)))
        guard fields.count > 21, ticks > 0, let user = Double(fields[11]), let kernel = Double(fields[12]),
            let start = Double(fields[19]), let virtual = Int(fields[20]), let resident = Int(fields[21])
        else { return nil }
        var figures = ProcessFigures()
        figures.cpuSeconds = (user + kernel) / ticks
        figures.virtualBytes = virtual
        figures.residentBytes = resident * Int(sysconf(Int32(_SC_PAGESIZE)))
        figures.startedAt = self.bootedAt + start / ticks
        figures.openDescriptors = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count) ?? 0
        var limit = rlimit()
        if getrlimit(SystemCalls.openFiles, &limit) == 0 { figures.descriptorLimit = Int(clamping: limit.rlim_cur) }
        return figures
    }

    /// The start of the machine, in UNIX seconds; 0 if the system does not report it. The start is read once, because
    /// `/proc/stat` is long on a large machine.
    private static let bootedAt: Double = {
        let lines = Self.contents("/proc/stat", longest: 1 << 20)?.split(separator: "\n") ?? []
        return lines.first { $0.hasPrefix("btime ") }.flatMap { Double($0.dropFirst(6)) } ?? 0
    }()

    private static func contents(_ path: String, longest: Int) -> String? {
        guard let file = fopen(path, "re") else { return nil }
        defer { fclose(file) }
        var bytes = [UInt8](repeating: 0, count: longest)
        // This is a statement of its own. As an argument of `prefix`, the call would fill a copy of the array.
        let count = fread(&bytes, 1, bytes.count, file)
        return String(decoding: bytes.prefix(count), as: UTF8.self)
    }
}

extension MetricsText {
    package mutating func add(_ figures: ProcessFigures) {
        self.add(
            .counter,
            "process_cpu_seconds_total",
            "Total user and system CPU time spent in seconds.",
            [Series(figures.cpuSeconds)]
        )
        self.add(.gauge, "process_resident_memory_bytes", "Resident memory size in bytes.", figures.residentBytes)
        self.add(.gauge, "process_virtual_memory_bytes", "Virtual memory size in bytes.", figures.virtualBytes)
        self.add(.gauge, "process_open_fds", "Number of open file descriptors.", figures.openDescriptors)
        self.add(.gauge, "process_max_fds", "Maximum number of open file descriptors.", figures.descriptorLimit)
        self.add(
            .gauge,
            "process_start_time_seconds",
            "Start time of the process since unix epoch in seconds.",
            [Series(figures.startedAt)]
        )
    }
}

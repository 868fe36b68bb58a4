internal import FerryPlatform

/// The number of files and sockets that the process may open (`RLIMIT_NOFILE`), as a bound for connections.
///
/// A process without free descriptors can accept no connection and open no file. So a listener leaves ``reserve``
/// descriptors free. A held connection (``AcceptGate``) takes one of them. Each listener of a process counts only its
/// own connections, so several listeners together can use all descriptors. Then an accept fails, and SwiftNIO tries
/// again in the next turn of the event loop.
package struct DescriptorLimit: Hashable, Sendable {
    /// Descriptors that a listener leaves free for event loops, files and outgoing connections of the process.
    package static let reserve = 64

    /// The number of descriptors that the process may have open at a time.
    package var descriptors: Int

    package init(descriptors: Int) {
        self.descriptors = descriptors
    }

    /// The current soft limit; `Int.max` if the system does not report it.
    package static var current: DescriptorLimit {
        var limit = rlimit()
        guard getrlimit(SystemCalls.openFiles, &limit) == 0 else { return DescriptorLimit(descriptors: .max) }
        return DescriptorLimit(descriptors: Int(clamping: limit.rlim_cur))
    }

    /// Returns `wanted`, lowered to the descriptors minus ``reserve``. Returns at least 1.
    package func connections(_ wanted: Int) -> Int {
        max(1, min(wanted, self.descriptors - Self.reserve))
    }
}

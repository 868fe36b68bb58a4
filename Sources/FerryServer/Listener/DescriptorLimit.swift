#if canImport(Glibc)
private import Glibc
#elseif canImport(Musl)
private import Musl
#else
private import Darwin
#endif

/// How many connections fit into the files and sockets that the system lets the process open (`RLIMIT_NOFILE`).
///
/// A listener that runs out of descriptors accepts nothing, and neither can the process open a file or a connection of
/// its own. So a listener leaves some free. Each listener of a process reckons alone: with several, SwiftNIO's pause of
/// a second after a failed accept is what is left.
package struct DescriptorLimit: Hashable, Sendable {
    /// Descriptors that a listener leaves to event loops, files and connections that the process opens itself.
    package static let reserve = 64

    /// Descriptors that the process may have open at a time.
    package var descriptors: Int

    package init(descriptors: Int) {
        self.descriptors = descriptors
    }

    /// The soft limit at present; no bound where the system does not tell.
    package static var current: DescriptorLimit {
        var limit = rlimit()
        guard getrlimit(self.resource, &limit) == 0 else { return DescriptorLimit(descriptors: .max) }
        return DescriptorLimit(descriptors: Int(clamping: limit.rlim_cur))
    }

    /// As many of `wanted` connections as there are descriptors for, and at least 1.
    package func connections(_ wanted: Int) -> Int {
        max(1, min(wanted, self.descriptors - Self.reserve))
    }

    #if canImport(Glibc)
    private static let resource = __rlimit_resource_t(UInt32(RLIMIT_NOFILE.rawValue))
    #else
    private static let resource = RLIMIT_NOFILE
    #endif
}

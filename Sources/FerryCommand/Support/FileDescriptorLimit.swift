internal import ArgumentParser
internal import NIOCore
internal import NIOPosix

#if canImport(Glibc)
internal import Glibc
#elseif canImport(Musl)
internal import Musl
#else
internal import Darwin
#endif

/// A command that opens sockets.
protocol SocketCommand {
    /// How many it has open at a time, at least, as far as its options tell.
    var socketCount: Int { get }
}

/// Whether the system lets the process open as many files and sockets as a command needs.
///
/// SwiftNIO takes it for a fault of the program when an event loop gets no descriptor, and ends the process by a trap.
/// So this is looked at before the first loop starts.
enum FileDescriptorLimit {
    /// epoll, eventfd and timerfd.
    private static let eachLoop = 3
    /// Dispatch's own and signals (6), input and what wakes its reader (3), the output of a command (2), what a library or
    /// the resolver opens for a moment (5).
    private static let base = 16

    /// As ``require(sockets:)``, if the command opens any.
    static func require(for command: any ParsableCommand) throws(CommandFailure) {
        if let command = command as? any SocketCommand { try self.require(sockets: command.socketCount) }
    }

    /// Raises the soft limit as far as needed, and as the hard one allows.
    ///
    /// - Parameter sockets: how many are open at a time, at least.
    /// - Throws: ``CommandFailure`` with status 2 when that is not enough.
    static func require(sockets: Int) throws(CommandFailure) {
        let count = NIOSingletons.groupLoopCountSuggestion * self.eachLoop + self.base + sockets
        guard !self.canOpen(count) else { return }
        var limit = rlimit()
        guard getrlimit(self.resource, &limit) == 0 else { return }
        let soft = limit.rlim_cur
        if soft < limit.rlim_max {
            limit.rlim_cur = min(limit.rlim_max, soft + rlim_t(count))
            if setrlimit(self.resource, &limit) == 0, self.canOpen(count) { return }
        }
        throw .usage(
            "Only \(soft) files and sockets may be open at a time (ulimit -n), and \(count) more than are open now are "
                + "needed. Raise the limit, for example with ulimit -n \(self.advice(count))."
        )
    }

    /// A round number that is surely enough.
    private static func advice(_ count: Int) -> Int { max(1024, (count + 1023) / 512 * 512) }

    /// Only trying tells, because nobody knows how many descriptors the process was started with.
    private static func canOpen(_ count: Int) -> Bool {
        var opened: [Int32] = []
        opened.reserveCapacity(count)
        defer { for descriptor in opened { close(descriptor) } }
        while opened.count < count {
            let descriptor = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0)
            guard descriptor >= 0 else { return false }
            opened.append(descriptor)
        }
        return true
    }

    #if canImport(Glibc)
    private static let resource = __rlimit_resource_t(UInt32(RLIMIT_NOFILE.rawValue))
    #else
    private static let resource = RLIMIT_NOFILE
    #endif
}

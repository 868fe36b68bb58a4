internal import ArgumentParser
internal import FerryPlatform
internal import FerryTerminal
internal import NIOCore
internal import NIOPosix

/// A command that opens sockets.
protocol SocketCommand {
    /// The minimum number of sockets that are open at the same time, as far as the options set it.
    var socketCount: Int { get }
}

/// A command that serves any number of connections of other programs.
protocol ListeningCommand: SocketCommand {}

/// A check that the system lets the process open enough files and sockets for a command.
///
/// When an event loop gets no descriptor, SwiftNIO treats it as a fault of the program and traps. So the check runs
/// before the first loop starts.
enum FileDescriptorLimit {
    /// The descriptors of an event loop: epoll, eventfd and timerfd.
    private static let eachLoop = 3
    /// The other descriptors: Dispatch and signals (6), input and the pipe that wakes its reader (3), the output of a
    /// command (2), short-lived ones of libraries and the resolver (5).
    private static let base = 16

    /// Calls ``require(sockets:)`` if the command opens sockets, and raises the limit if it listens.
    static func require(for command: any ParsableCommand) throws(CommandFailure) {
        if command is any ListeningCommand { self.raise() }
        if let command = command as? any SocketCommand { try self.require(sockets: command.socketCount) }
    }

    /// Raises the soft limit as far as necessary and allowed.
    ///
    /// - Parameter sockets: the minimum number of sockets that are open at the same time.
    /// - Throws: ``CommandFailure`` with status 2 when the limit stays too low.
    static func require(sockets: Int) throws(CommandFailure) {
        let count = NIOSingletons.groupLoopCountSuggestion * self.eachLoop + self.base + sockets
        guard !self.canOpen(count) else { return }
        var limit = rlimit()
        guard getrlimit(SystemCalls.openFiles, &limit) == 0 else { return }
        let soft = limit.rlim_cur
        if soft < limit.rlim_max {
            limit.rlim_cur = min(limit.rlim_max, soft + rlim_t(count))
            if setrlimit(SystemCalls.openFiles, &limit) == 0, self.canOpen(count) { return }
        }
        throw .usage(
            "Only \(soft) files and sockets may be open at a time (ulimit -n), and \(count) more than are open now are "
                + "needed. Raise the limit, for example with ulimit -n \(self.advice(count))."
        )
    }

    /// Raises the soft limit to the hard one. The usual 1,024 would bound a listener to 960 connections.
    private static func raise() {
        var limit = rlimit()
        guard getrlimit(SystemCalls.openFiles, &limit) == 0, limit.rlim_cur < limit.rlim_max else { return }
        limit.rlim_cur = limit.rlim_max
        setrlimit(SystemCalls.openFiles, &limit)
    }

    /// A round number that is large enough.
    private static func advice(_ count: Int) -> Int { max(1024, (count + 1023) / 512 * 512) }

    /// Opens descriptors as a test, because the process may have inherited any number of them.
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
}

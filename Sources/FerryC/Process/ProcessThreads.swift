internal import CFerry
internal import Ferry
internal import FerryPlatform
internal import NIOCore
internal import NIOPosix

/// The library's threads in one process. They start before the first provider or reader of a feedback service is made,
/// and not when the library is loaded.
struct ProcessThreads: Sendable {
    let loops: MultiThreadedEventLoopGroup
    /// The thread that resolves host names. A pool of our own is necessary, because the threads of SwiftNIO's
    /// singleton pool do not exist in a child of `fork`.
    let lookups: NIOThreadPool
    /// The sockets of all connections.
    let sockets = OpenSockets()

    /// The facts about this process that a provider needs.
    var embedding: Embedding {
        Embedding(lookupPool: self.lookups, lookUp: { try ForkGate.lookUp($0) }, sockets: self.sockets)
    }

    /// The number of descriptors that an event loop opens: epoll, a timer and an event.
    private static let descriptorsOfLoop = 3
    /// The number of descriptors that must be free for the first sockets.
    private static let descriptorsBeside = 8

    /// Starts the threads. They block all signals, because signals belong to the program.
    ///
    /// - Throws: ``SystemFault`` when descriptors or threads are missing. SwiftNIO would trap without them.
    static func start(loops count: Int) throws -> ProcessThreads {
        try self.requireDescriptors(count * self.descriptorsOfLoop + self.descriptorsBeside)
        var all = sigset_t()
        var before = sigset_t()
        sigfillset(&all)
        pthread_sigmask(SIG_SETMASK, &all, &before)
        defer { pthread_sigmask(SIG_SETMASK, &before, nil) }
        try self.requireThreads(count + 1)
        let loops = MultiThreadedEventLoopGroup(numberOfThreads: count)
        let lookups = NIOThreadPool(numberOfThreads: 1)
        lookups.start()
        Self.keepDispositionOfSIGPIPE(loops)
        return ProcessThreads(loops: loops, lookups: lookups)
    }

    private static func requireDescriptors(_ count: Int) throws {
        let trials = (0..<count).map { _ in cferry_eventfd() }
        for trial in trials where trial >= 0 { close(trial) }
        guard trials.allSatisfy({ $0 >= 0 }) else { throw SystemFault.noDescriptors }
    }

    private static func requireThreads(_ count: Int) throws {
        var threads: [pthread_t] = []
        for _ in 0..<count {
            var thread = pthread_t()
            guard
                pthread_create(
                    &thread,
                    nil,
                    { _ in
                        sleep(1); return nil
                    },
                    nil
                ) == 0
            else { break }
            threads.append(thread)
        }
        for thread in threads { pthread_cancel(thread) }
        for thread in threads { pthread_join(thread, nil) }
        guard threads.count == count else { throw SystemFault.noThreads }
    }

    /// Keeps the program's own disposition of SIGPIPE. SwiftNIO ignores the signal in the whole process when it makes
    /// its first socket. Our threads block the signal, so a write to a closed socket does not end the process.
    private static func keepDispositionOfSIGPIPE(_ loops: MultiThreadedEventLoopGroup) {
        var before = sigaction()
        guard sigaction(SIGPIPE, nil, &before) == 0 else { return }
        let socket = try? DatagramBootstrap(group: loops).bind(host: "127.0.0.1", port: 0).wait()
        try? socket?.close().wait()
        sigaction(SIGPIPE, &before, nil)
    }
}

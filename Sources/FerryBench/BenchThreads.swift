internal import NIOCore
internal import NIOPosix

/// The event loops of a benchmark: the threads of the client, as many for the server, and those of a gateway between them.
struct BenchThreads {
    let clients: MultiThreadedEventLoopGroup
    let servers: MultiThreadedEventLoopGroup
    var gateways: MultiThreadedEventLoopGroup?

    /// - Parameters:
    ///   - count: the number of threads of the client, and of the server.
    ///   - gateways: the threads of a gateway between them.
    init(_ count: Int = 1, gateways: MultiThreadedEventLoopGroup? = nil) {
        self.gateways = gateways
        self.clients = MultiThreadedEventLoopGroup(numberOfThreads: count)
        self.servers = MultiThreadedEventLoopGroup(numberOfThreads: count)
    }

    func stop() async {
        try? await self.clients.shutdownGracefully()
        try? await self.gateways?.shutdownGracefully()
        try? await self.servers.shutdownGracefully()
    }

    /// Measures `body`, which handles `count` notifications.
    func measure(
        _ name: String,
        _ note: String,
        count: Int,
        _ body: () async throws -> Latencies
    ) async throws -> BenchResult {
        ProcessMeter.resetPeak()
        let before = (ProcessMeter.now, ProcessMeter.processTime, await self.clientTime)
        let latencies = try await body()
        let after = (ProcessMeter.now, ProcessMeter.processTime, await self.clientTime)
        let peak = ProcessMeter.peak
        return BenchResult(
            name: name,
            note: note,
            count: count,
            perSecond: Double(count) / (Double(after.0 - before.0) * 1e-9),
            cpuMicrosecondsEach: (after.1 - before.1) * 1e6 / Double(count),
            clientMicrosecondsEach: (after.2 - before.2) * 1e6 / Double(count),
            p50Ms: latencies.milliseconds(0.5),
            p99Ms: latencies.milliseconds(0.99),
            peakMiB: peak
        )
    }

    /// Processor time of the client's threads, in seconds.
    private var clientTime: Double {
        get async {
            var sum = 0.0
            for loop in Array(self.clients.makeIterator()) {
                sum += (try? await loop.submit { ProcessMeter.threadTime }.get()) ?? 0
            }
            return sum
        }
    }
}

@testable internal import FerryBinary
@testable internal import FerryCore
@testable internal import FerryMachine
internal import NIOCore

/// A client machine on a connection that takes all bytes at once.
private final class Machine {
    private var client: BinaryClient
    private var now: NIODeadline = .uptimeNanoseconds(1_000_000_000_000)
    private var id = ConnectionID(0)
    private var sent: UInt64 = 0
    private var buffer = ByteBuffer()

    init(_ policy: BinaryOptions.CachePolicy = .hold) {
        var options = BinaryOptions()
        options.cachePolicy = policy
        options.cacheLimit = .init(entries: 1 << 20, bytes: 1 << 30)
        self.client = BinaryClient(options: options, seed: 1)
        self.buffer.reserveCapacity(128 << 10)
    }

    private var moment: Moment { Moment(monotonic: self.now, epochSeconds: 1_700_000_000) }

    func submit(_ run: BatchRun) {
        self.client.submit(run, now: self.moment)
        for case .dial(let id) in self.client.takeSteps() {
            self.id = id
            self.client.connected(id, now: self.moment)
        }
        _ = self.client.takeEvents()
    }

    /// Writes the queued notifications, 64 KiB at a time.
    func write() {
        while self.client.write(self.id, into: &self.buffer, atMost: 64 << 10, now: self.moment) {
            self.sent += UInt64(self.buffer.readableBytes)
            self.client.flushed(self.id, at: self.sent, now: self.moment)
            self.buffer.clear()
        }
    }

    /// Advances the time until silence has settled all notifications.
    func settle() {
        while self.client.unsettledCount > 0, let next = self.client.nextDeadline {
            self.now = max(self.now, next)
            self.client.tick(now: self.moment)
            for case .sample(let id) in self.client.takeSteps() {
                let sample = TransportSample(acknowledged: self.sent, hasUnread: false, isWritable: true)
                self.client.sampled(id, sample, now: self.moment)
            }
        }
        self.finish()
    }

    /// Receives an error response for the notification that was written as `number`, counted from 1.
    func respond(_ number: UInt32, _ status: BinaryStatus) {
        var bytes = ByteBuffer()
        ErrorResponse(status: status, identifier: number).write(to: &bytes)
        self.client.received(self.id, bytes, handed: self.sent, now: self.moment)
        self.finish()
    }

    private func finish() {
        self.client.outcomes.records.removeAll(keepingCapacity: true)
        use(self.client.queuedCount)
    }
}

private let count = 100_000

/// Returns a machine that has written 100,000 notifications.
private func written(_ policy: BinaryOptions.CachePolicy = .hold) -> Machine {
    let machine = Machine(policy)
    machine.submit(notifications(count))
    machine.write()
    return machine
}

let machine: [Benchmark] = [
    Benchmark("write into the cache, hold", count: count) {
        let machine = Machine()
        machine.submit(notifications(count))
        return { machine.write() }
    },
    Benchmark("write into the cache, evict", count: count) {
        let machine = Machine(.evict)
        machine.submit(notifications(count))
        return { machine.write() }
    },
    Benchmark("settle by silence", count: count) {
        let machine = written()
        return { machine.settle() }
    },
    Benchmark("settle by an error response for the last", count: count) {
        let machine = written()
        return { machine.respond(UInt32(count), .invalidToken) }
    },
    Benchmark("requeue by an error response for the first", count: count) {
        let machine = written()
        return { machine.respond(1, .invalidToken) }
    },
    Benchmark("submit to four connections", count: count) {
        let run = notifications(count)
        var options = BinaryOptions()
        options.maxConnections = 4
        return {
            var client = BinaryClient(options: options, seed: 1)
            client.submit(run, now: Moment(monotonic: .now(), epochSeconds: 1_700_000_000))
            use(client)
        }
    },
]

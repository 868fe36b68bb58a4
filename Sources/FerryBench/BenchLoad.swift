internal import Ferry
internal import FerryCore
internal import Synchronization

/// Gives notifications to a provider, in each of the ways that are measured.
final class BenchLoad: Sendable {
    /// A way to give notifications to the provider.
    enum Kind {
        /// In batches, from one task.
        case batches
        /// As values, with `submit(contentsOf:)`.
        case values
        /// With `send`, from ``taskCount`` tasks.
        case send
        /// 10 notifications every millisecond. The latency is the time until TLS has them.
        case paced
    }

    static let taskCount = 1000
    /// The length of a payload in bytes.
    static let payloadLength = 100
    /// The number of different device tokens, used in turn.
    static let deviceCount = 1000
    /// The number of notifications in a batch.
    private static let batch = 1024
    /// The number of notifications that the paced run submits in each interval.
    private static let burst = 10
    private static let interval: Duration = .milliseconds(1)

    private let provider: any PushProvider
    private let sink: BenchSink
    private let notification: PushNotification
    private let devices: [DeviceToken]
    private let acceptedCount = Atomic<Int>(0)

    init(provider: any PushProvider, sink: BenchSink) throws {
        self.provider = provider
        self.sink = sink
        self.notification = try Self.makeNotification()
        self.devices = try Self.makeDevices()
    }

    static func makeNotification() throws -> PushNotification {
        let frame = #"{"aps":{"alert":""}}"#.utf8.count
        let alert = String(repeating: "x", count: Self.payloadLength - frame)
        return try PushNotification(json: #"{"aps":{"alert":"\#(alert)"}}"#.utf8)
    }

    static func makeDevices() throws -> [DeviceToken] {
        var generator = SystemRandomNumberGenerator()
        return try (0..<Self.deviceCount).map { _ in
            try DeviceToken((0..<32).map { _ in UInt8.random(in: .min ... .max, using: &generator) })
        }
    }

    /// The number of accepted outcomes that `send` returned.
    var accepted: Int { self.acceptedCount.load(ordering: .relaxed) }

    /// Submits `count` notifications, and waits for their outcomes; in the paced run, it waits until TLS has them.
    /// Returns the latencies of a sample, but in the paced run of all notifications.
    func run(_ kind: Kind, _ count: Int, isTimed: Bool) async throws -> Latencies {
        switch kind {
        case .batches: try await self.batches(count, isTimed: isTimed)
        case .values: try await self.values(count, isTimed: isTimed)
        case .send: return try await self.send(count)
        case .paced: return try await self.paced(count)
        }
        _ = await self.provider.drain(within: .seconds(60))
        return self.sink.latencies
    }

    private func tag(_ number: Int, _ isTimed: Bool) -> UInt64 {
        guard isTimed else { return BenchSink.untimed }
        self.sink.begin(UInt64(number))
        return UInt64(number)
    }

    private func batches(_ count: Int, isTimed: Bool) async throws {
        var batch = PushBatch(capacity: Self.batch)
        for number in 0..<count {
            let tag = PushTag(self.tag(number, isTimed))
            try batch.append(self.notification, to: self.devices[number % self.devices.count], tag: tag)
            if batch.count == Self.batch { try await self.provider.submit(&batch) }
        }
        try await self.provider.submit(&batch)
    }

    private func values(_ count: Int, isTimed: Bool) async throws {
        try await self.provider.submit(
            contentsOf: (0..<count).lazy.map { number in
                Submission(
                    self.notification,
                    to: self.devices[number % self.devices.count],
                    tag: PushTag(self.tag(number, isTimed))
                )
            }
        )
    }

    private func send(_ count: Int) async throws -> Latencies {
        let samples = try await withThrowingTaskGroup(of: [UInt64].self) { group in
            for task in 0..<Self.taskCount {
                let range = count * task / Self.taskCount..<count * (task + 1) / Self.taskCount
                group.addTask { try await self.send(range) }
            }
            return try await group.reduce(into: []) { $0 += $1 }
        }
        return Latencies(nanoseconds: samples)
    }

    private func send(_ range: Range<Int>) async throws -> [UInt64] {
        var samples: [UInt64] = []
        var accepted = 0
        for number in range {
            let start = number % 16 == 0 ? ProcessMeter.now : 0
            let device = self.devices[number % self.devices.count]
            if case .accepted = try await self.provider.send(self.notification, to: device) { accepted += 1 }
            if start > 0 { samples.append(ProcessMeter.now - start) }
        }
        self.acceptedCount.add(accepted, ordering: .relaxed)
        return samples
    }

    /// Submits at an even rate, and measures the time until the provider reports that TLS has a notification.
    private func paced(_ count: Int) async throws -> Latencies {
        let starts = Locked([UInt64](repeating: 0, count: count))
        let events = self.provider.events(bufferingNewest: count)
        let base = UInt64(BenchSink.untimed) - UInt64(count)
        async let samples = Self.transmissions(count, events) { tag, now in
            now - starts.withLock { $0[Int(tag - base)] }
        }
        var batch = PushBatch(capacity: Self.burst)
        var next = ContinuousClock.now
        for number in 0..<count {
            // The sink does not time these tags.
            try batch.append(
                self.notification,
                to: self.devices[number % self.devices.count],
                tag: PushTag(base + UInt64(number))
            )
            guard batch.count == Self.burst || number == count - 1 else { continue }
            try await Task.sleep(until: next, tolerance: .zero, clock: .continuous)
            next += Self.interval
            let now = ProcessMeter.now
            starts.withLock { starts in
                for index in number + 1 - batch.count...number { starts[index] = now }
            }
            try await self.provider.submit(&batch)
        }
        return Latencies(nanoseconds: await samples)
    }

    private static func transmissions(
        _ count: Int,
        _ events: ProviderEvents,
        _ latency: @Sendable (UInt64, UInt64) -> UInt64
    ) async -> [UInt64] {
        var samples: [UInt64] = []
        for await event in events {
            guard case .transmitted(_, let tags) = event else { continue }
            let now = ProcessMeter.now
            for tag in tags { samples.append(latency(tag.rawValue, now)) }
            if samples.count >= count { break }
        }
        return samples
    }
}

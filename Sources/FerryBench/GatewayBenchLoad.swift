internal import Ferry

/// Gives numbered notifications to a provider: a client of the gateway, or one that sends straight to APNs.
struct GatewayBenchLoad {
    private static let batch = 1024
    /// The number of notifications that the paced run submits in each interval.
    private static let burst = 10
    private static let interval: Duration = .milliseconds(1)

    private let provider: any PushProvider
    private let recorder: GatewayBenchRecorder
    private let notification: PushNotification

    init(provider: any PushProvider, recorder: GatewayBenchRecorder) throws {
        self.provider = provider
        self.recorder = recorder
        self.notification = try BenchLoad.makeNotification()
    }

    /// Submits the notifications with these numbers, as fast as the client takes them or at an even rate.
    func run(_ numbers: Range<Int>, isPaced: Bool) async throws {
        let size = isPaced ? Self.burst : Self.batch
        var batch = PushBatch(capacity: size)
        var next = ContinuousClock.now
        for start in stride(from: numbers.lowerBound, to: numbers.upperBound, by: size) {
            let piece = start..<min(start + size, numbers.upperBound)
            for number in piece {
                try batch.append(
                    self.notification,
                    to: DeviceToken(GatewayBenchRecorder.token(number)),
                    tag: PushTag(UInt64(number))
                )
            }
            if isPaced {
                try await Task.sleep(until: next, tolerance: .zero, clock: .continuous)
                next += Self.interval
            }
            self.recorder.begin(piece)
            try await self.provider.submit(&batch)
        }
    }
}

internal import Ferry

/// The notifications of the demo, for either protocol.
enum DemoBatch {
    /// The longest wait for all outcomes of a provider.
    static let limit: Duration = .seconds(20)

    static func device(_ number: Int) throws -> DeviceToken {
        try DeviceToken((0..<32).map { UInt8(truncatingIfNeeded: $0 < 24 ? $0 : number >> (8 * (31 - $0))) })
    }

    static func devices(_ numbers: [Int]) throws -> Set<DeviceToken> {
        try Set(numbers.map(self.device))
    }

    static func submit(_ numbers: Range<Int>, to provider: some PushProvider) async throws {
        let notification = try PushNotification(Payload(alert: "Hello", badge: 1))
        var batch = PushBatch(capacity: numbers.count)
        for number in numbers {
            try batch.append(notification, to: self.device(number), tag: PushTag(UInt64(number)))
        }
        try await provider.submit(&batch)
    }
}

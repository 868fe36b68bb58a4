// Moves the devices of a running provider from the binary protocol to HTTP/2, step by step, and looks at both sides.
//
//     swift run MoveDevices

import Ferry
import FerryTesting

@main
struct MoveDevices {
    static let topic = "com.example.ferry"

    static func main() async throws {
        let credentials = try TestCredentials(topic: topic)
        let gateway = try await SimulatedGateway.start(.init(credentials: credentials))
        let apns = try await SimulatedAPNs.start(.init(credentials: credentials))
        var configuration = try configuration(credentials, gateway, apns)
        // Each side may take over what the other certainly did not deliver.
        configuration.options.fallback = MigrationOptions.Fallback()
        // A tester's device goes first, whatever the share.
        let tester = try device(7)
        configuration.options.rule = MigrationRule(share: 0, devices: [tester: .http2])

        let report = try await withProvider(configuration) { provider in
            let events = provider.events(bufferingNewest: 1000)
            for share in [0.0, 1, 10, 50, 100] {
                // A program reads the share from its settings. What is not written moves, in order.
                provider.rule.share = share
                try await send(10_000, to: 500, with: provider)
                _ = await provider.drain(within: .seconds(30))
                tell(share, provider.report.sinceChange)
            }
            _ = await provider.shutDown(within: .seconds(30))
            for await case .migration(let event) in events { print(event) }
            return provider.report
        }
        await gateway.stop()
        await apns.stop()

        let arrived = gateway.counts.accepted + apns.counts.accepted
        print("\(arrived) arrived, \(report.life.http2.outcomes.accepted) of them over HTTP/2")
        guard arrived == 50_000, report.life.http2.outcomes.accepted == apns.counts.accepted else { throw Miscount() }
    }

    static func configuration(
        _ credentials: TestCredentials,
        _ gateway: SimulatedGateway,
        _ apns: SimulatedAPNs
    ) throws -> MigratingConfiguration {
        var binary = BinaryConfiguration(
            host: gateway.host,
            port: gateway.port,
            identity: credentials.client,
            outcomes: .discard
        )
        binary.trustRoots = credentials.trustRoots
        var http2 = HTTP2Configuration(
            host: apns.host,
            port: apns.port,
            credentials: .certificate(credentials.client),
            topic: topic,
            outcomes: .discard
        )
        http2.trustRoots = credentials.trustRoots
        return MigratingConfiguration(binary: binary, http2: http2, outcomes: .discard)
    }

    static func device(_ number: Int) throws -> DeviceToken {
        try DeviceToken((0..<32).map { UInt8(truncatingIfNeeded: number >> (8 * ($0 % 4))) })
    }

    /// Sends notifications to the devices in turn.
    static func send(_ count: Int, to devices: Int, with provider: MigratingProvider) async throws {
        let notification = try PushNotification(Payload(alert: "The shop opens at nine."))
        var batch = PushBatch(capacity: count)
        for number in 0..<count {
            try batch.append(notification, to: device(number % devices), tag: PushTag(UInt64(number)))
        }
        try await provider.submit(&batch)
    }

    /// Compares both sides since the share was set.
    static func tell(_ share: Double, _ period: MigrationReport.Period) {
        for side in ProviderSide.allCases {
            let rate = period[side].acceptanceRate
            guard let interval = rate.interval else { continue }
            let (low, high) = (percent(interval.lowerBound), percent(interval.upperBound))
            print("\(share) %: over \(side) \(rate.count) of \(rate.total) accepted (\(low) to \(high) %)")
        }
    }

    static func percent(_ part: Double) -> Double { (part * 10_000).rounded() / 100 }

    struct Miscount: Error {}
}

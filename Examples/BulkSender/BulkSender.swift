import Ferry
import FerryTesting
import Synchronization

/// Sends one notification to many devices, batch by batch. The memory does not grow with the number of devices.
@main
struct BulkSender {
    static let deviceCount = 100_000
    static let batchSize = 1000

    static func main() async throws {
        // This gateway rejects two devices. FirstProgram shows how to use another gateway.
        let credentials = try TestCredentials()
        var simulation = SimulatedGateway.Configuration(credentials: credentials)
        simulation.script.rules = [.reject(try [device(17), device(70_000)])]
        let gateway = try await SimulatedGateway.start(simulation)

        let tally = Tally()
        var configuration = BinaryConfiguration(
            host: gateway.host,
            port: gateway.port,
            identity: credentials.client,
            outcomes: .sink(tally)
        )
        configuration.trustRoots = credentials.trustRoots

        let report = try await withProvider(configuration) { provider in
            let notification = try PushNotification(Payload(alert: "The shop opens at nine."))
            var batch = PushBatch(capacity: self.batchSize)
            for index in 0..<self.deviceCount {
                // The tag comes back with the outcome. Here it is the number of the device.
                try batch.append(notification, to: self.device(index), tag: PushTag(UInt64(index)))
                // Waits while the provider has no room, so that nothing piles up.
                if batch.count == self.batchSize { try await provider.submit(&batch) }
            }
            try await provider.submit(&batch)
            return await provider.drain(within: .seconds(60))
        }
        await gateway.stop()

        print("\(tally.counts.settled) outcomes: \(tally.counts.accepted) accepted, \(tally.counts.rejected) rejected")
        let gone = tally.gone
        print("Devices to forget: \(gone.sorted()); copies sent again: \(report.resent)")
        guard gone == [17, 70_000], tally.counts.settled == self.deviceCount else { throw Miscount() }
    }

    static func device(_ index: Int) throws -> DeviceToken {
        try DeviceToken((0..<32).map { UInt8(truncatingIfNeeded: index >> (8 * ($0 % 4))) })
    }

    struct Miscount: Error {}
}

/// Counts outcomes. The provider calls it on its event loop, with many outcomes at a time, so it must not block.
final class Tally: OutcomeSink {
    private struct State {
        var counts = OutcomeCounts()
        /// The notifications that the gateway refused, by their tags.
        var rejected: [UInt64: Rejection] = [:]
    }

    private let state = Mutex(State())

    var counts: OutcomeCounts { self.state.withLock { $0.counts } }
    /// The numbers of the devices to forget. With credentials of the wrong environment every token is refused, so the
    /// rule wants to see acceptances.
    var gone: Set<UInt64> {
        self.state.withLock { state in
            Set(state.rejected.filter { $0.value.tokenIsGone(confirmed: state.counts.confirmed) }.keys)
        }
    }

    func settled(_ outcomes: Span<OutcomeRecord>) {
        self.state.withLock { state in
            for index in outcomes.indices {
                state.counts.add(outcomes[index].outcome)
                guard case .rejected(let rejection) = outcomes[index].outcome else { continue }
                state.rejected[outcomes[index].tag.rawValue] = rejection
            }
        }
    }
}

import Ferry
import FerryCore
import FerryGateway
import Synchronization

/// The provider of a chaos run: it sees what goes to APNs, and what comes back, without a change to either.
final class ChaosUpstream: PushProvider {
    /// The outcomes on their way to the gateway.
    final class Doubts: OutcomeSink {
        let outcomes = UpstreamOutcomes()
        private let account: ChaosAccount
        /// The numbers of the pushes that the provider has, by their tags.
        private let numbers = Mutex<[UInt64: UInt32]>([:])

        init(_ account: ChaosAccount) { self.account = account }

        fileprivate func sent(_ run: BatchRun) {
            self.numbers.withLock { numbers in
                for index in 0..<run.count {
                    guard let push = ChaosPush(token: run.device(at: index).bytes) else { continue }
                    let tag = run.entries[index].tag
                    numbers[tag] = push.number
                    self.account.sent(push.number, as: tag)
                }
            }
        }

        func settled(_ outcomes: Span<OutcomeRecord>) {
            for index in outcomes.indices {
                let record = outcomes[index]
                let number = self.numbers.withLock { $0.removeValue(forKey: record.tag.rawValue) }
                guard let number else { continue }
                switch record.outcome {
                case .accepted: self.account.ended(number, isAccepted: true, inDoubt: false)
                case .uncertain: self.account.ended(number, isAccepted: false, inDoubt: true)
                default: self.account.ended(number, isAccepted: false, inDoubt: false)
                }
            }
            self.outcomes.settled(outcomes)
        }
    }

    private let provider: HTTP2Provider
    private let doubts: Doubts
    /// How many notifications of the gateway's batch were noted before: those that there was no room for.
    private let noted = Mutex(0)

    init(_ provider: HTTP2Provider, _ doubts: Doubts) {
        self.provider = provider
        self.doubts = doubts
    }

    func trySubmit(_ batch: inout PushBatch) {
        self.noted.withLock { noted in
            let (storage, start, count) = (batch.storage, batch.start + noted, batch.count - noted)
            self.doubts.sent(BatchRun(storage: storage, start: start, count: count))
            self.provider.trySubmit(&batch)
            noted = batch.count
        }
    }

    func submit(_ batch: inout PushBatch) async throws(SubmitError) { try await self.provider.submit(&batch) }

    func send(_ notification: PushNotification, to device: DeviceToken) async throws(SubmitError) -> Outcome {
        try await self.provider.send(notification, to: device)
    }

    var outcomes: OutcomeStream { self.provider.outcomes }
    var counts: OutcomeCounts { self.provider.counts }
    var lastError: ProviderError? { self.provider.lastError }

    func events(bufferingNewest limit: Int) -> ProviderEvents { self.provider.events(bufferingNewest: limit) }
    func drain(within limit: Duration) async -> DrainReport { await self.provider.drain(within: limit) }

    func shutDown(within limit: Duration, proof: Proof) async -> DrainReport {
        await self.provider.shutDown(within: limit, proof: proof)
    }

    func run() async throws { try await self.provider.run() }
}

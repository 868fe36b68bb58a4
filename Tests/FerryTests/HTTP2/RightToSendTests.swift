import Ferry
import FerryCore
import FerryMachine
import FerryTesting
import NIOCore
import Testing

/// Tests of a provider with a right to send that begins and ends.
@Suite(.timeLimit(.minutes(10))) struct RightToSendTests {
    /// A clock that the test sets, and that may go on by itself once it was asked.
    private final class Clock: Sendable {
        private let next = Locked<[NIODeadline]>([.uptimeNanoseconds(1)])

        /// Each look takes the first of these times. The last one stays.
        var times: [NIODeadline] {
            get { self.next.withLock { $0 } }
            set { self.next.withLock { $0 = newValue } }
        }

        var time: NIODeadline {
            self.next.withLock { $0.count > 1 ? $0.removeFirst() : $0[0] }
        }
    }

    private func run(_ body: (HTTP2Provider, RawAPNs, ForwardingRight, Clock) async throws -> Void) async throws {
        try await RawAPNs.run { apns in
            let clock = Clock()
            let right = ForwardingRight { clock.time }
            var configuration = try apns.configuration(nil, OutcomeCollector())
            configuration.right = right
            let provider = try HTTP2Provider(configuration)
            let events = provider.events(bufferingNewest: 100)
            try await Harness.submit(0..<10, to: provider)
            _ = await events.first { if case .connected = $0 { true } else { false } }
            try await body(provider, apns, right, clock)
            let report = await provider.shutDown(within: Harness.forever)
            #expect(report.outcomes.confirmed == 10)
            #expect(apns.requests.count == 10)
        }
    }

    @Test func `without the right, notifications stay in the queue until it comes`() async throws {
        try await self.run { _, apns, right, _ in
            #expect(apns.requests.isEmpty)
            right.set(until: .uptimeNanoseconds(2))
            #expect(right.sentWithoutRight == 0)
        }
    }

    @Test func `notifications whose right ends between the check and the write are counted`() async throws {
        try await self.run { provider, _, right, clock in
            let events = provider.events(bufferingNewest: 100)
            clock.times = [.uptimeNanoseconds(1), .uptimeNanoseconds(3)]
            right.set(until: .uptimeNanoseconds(2))
            _ = await events.first { if case .transmitted = $0 { true } else { false } }
            #expect((1...10).contains(right.sentWithoutRight))
            right.set(until: .uptimeNanoseconds(4))
        }
    }
}

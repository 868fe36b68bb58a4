import Ferry
import FerryTesting
import NIOCore
import Synchronization

/// A simulated gateway, a provider that sends to it, and the records of both.
struct Harness: Sendable {
    let credentials: TestCredentials
    let gateway: SimulatedGateway
    let recorder: GatewayMemoryRecorder
    let outcomes = OutcomeCollector()

    /// Longer than any wait on a slow machine. It only ends a test that hangs.
    static let forever: Duration = .seconds(300)

    /// Starts a gateway, runs `body`, and stops the gateway.
    static func run(
        _ script: GatewayScript = GatewayScript(),
        maximumTLSVersion: TLSVersion = .tls12,
        _ body: (Harness) async throws -> Void
    ) async throws {
        let credentials = try TestCredentials()
        let recorder = GatewayMemoryRecorder()
        var configuration = SimulatedGateway.Configuration(credentials: credentials)
        configuration.script = script
        configuration.script.linger = Self.forever
        configuration.maximumTLSVersion = maximumTLSVersion
        configuration.recorder = recorder
        let gateway = try await SimulatedGateway.start(configuration)
        do {
            try await body(Harness(credentials: credentials, gateway: gateway, recorder: recorder))
        } catch {
            await gateway.stop()
            throw error
        }
        await gateway.stop()
    }

    var configuration: BinaryConfiguration {
        var configuration = BinaryConfiguration(
            host: self.gateway.host,
            port: self.gateway.port,
            identity: self.credentials.client,
            outcomes: .sink(self.outcomes)
        )
        configuration.trustRoots = self.credentials.trustRoots
        configuration.serverName = "localhost"
        configuration.options.connectTimeout = Self.forever
        configuration.options.settleTime = .milliseconds(200)
        return configuration
    }

    /// The configuration for a gateway that sends answers. Every acceptance is proved: a gateway without processor time
    /// is silent too, so silence proves nothing.
    var proving: BinaryConfiguration {
        var configuration = self.configuration
        configuration.options.finality = .proof
        return configuration
    }

    /// Waits until the gateway has accepted `count` notifications.
    func accepted(reaches count: Int) async {
        while self.gateway.counts.accepted < count, !Task.isCancelled { try? await Task.sleep(for: .milliseconds(1)) }
    }

    /// Waits until `count` different notifications have arrived. What the provider wrote last may still be unread, if the
    /// gateway has no processor time.
    func arrived(reaches count: Int) async throws {
        while try self.arrived.count < count { try await Task.sleep(for: .milliseconds(1)) }
    }

    /// The device token of notification `number`.
    static func device(_ number: Int) throws -> DeviceToken {
        try DeviceToken((0..<32).map { UInt8(truncatingIfNeeded: number >> (8 * min($0, 7))) })
    }

    /// The number of the notification for `device`.
    static func number(_ device: DeviceToken) -> Int {
        device.bytes.prefix(8).reversed().reduce(0) { $0 << 8 | Int($1) }
    }

    static func devices(_ numbers: some Sequence<Int>) throws -> Set<DeviceToken> {
        try Set(numbers.map { try Self.device($0) })
    }

    /// Submits notifications `numbers`, tagged with their number.
    static func submit(_ numbers: Range<Int>, to provider: some PushProvider) async throws {
        let notification = try PushNotification(json: #"{"aps":{"alert":"Hello"}}"#.utf8)
        var batch = PushBatch()
        for number in numbers {
            try batch.append(notification, to: self.device(number), tag: PushTag(UInt64(number)))
        }
        try await provider.submit(&batch)
    }

    /// How often each notification arrived, by number.
    var arrived: [Int: Int] {
        get throws {
            var result: [Int: Int] = [:]
            for (device, count) in self.recorder.counts {
                result[Self.number(device)] = count
            }
            return result
        }
    }
}

extension ProviderEvents {
    /// Waits until `count` notifications were written. The first event is not enough: another loop writes at its own time.
    func transmitted(_ count: Int) async {
        var written = 0
        for await case .transmitted(_, let tags) in self {
            written += tags.count
            if written >= count { return }
        }
    }
}

/// A sink that keeps every outcome, and lets a test wait for a number of them.
final class OutcomeCollector: OutcomeSink {
    private struct State {
        var records: [Int: [Outcome]] = [:]
        var errors: [ProviderError?] = []
        var count = 0
        var waiters: [(count: Int, continuation: CheckedContinuation<Void, Never>)] = []

        mutating func takeDue() -> [CheckedContinuation<Void, Never>] {
            defer { self.waiters.removeAll { $0.count <= self.count } }
            return self.waiters.filter { $0.count <= self.count }.map(\.continuation)
        }
    }

    private let state = Mutex(State())

    func settled(_ outcomes: Span<OutcomeRecord>) {
        let due = self.state.withLock { state in
            for index in outcomes.indices {
                state.records[Int(outcomes[index].tag.rawValue), default: []].append(outcomes[index].outcome)
                state.errors.append(outcomes[index].error)
            }
            state.count += outcomes.count
            return state.takeDue()
        }
        for continuation in due { continuation.resume() }
    }

    func count(reaches count: Int) async {
        await withCheckedContinuation { continuation in
            let due = self.state.withLock { state in
                state.waiters.append((count, continuation))
                return state.takeDue()
            }
            for continuation in due { continuation.resume() }
        }
    }

    var all: [Int: [Outcome]] { self.state.withLock { $0.records } }

    /// The error of each outcome, in the order in which they came.
    var errors: [ProviderError?] { self.state.withLock { $0.errors } }

    /// The numbers of the notifications with exactly one outcome, if that outcome `matches`.
    func numbers(where matches: (Outcome) -> Bool) -> Set<Int> {
        Set(self.all.filter { $0.value.count == 1 && matches($0.value[0]) }.keys)
    }
}

extension Outcome {
    var isAccepted: Bool { if case .accepted = self { true } else { false } }
    var isPresumed: Bool { self == .accepted(.presumed) }
    var isUncertain: Bool { if case .uncertain = self { true } else { false } }
    var isRejected: Bool { if case .rejected = self { true } else { false } }
}

extension ProviderEvents {
    /// Returns the first event that `matches`. Nil if the provider ends before.
    func first(where matches: (ProviderEvent) -> Bool) async -> ProviderEvent? {
        for await event in self where matches(event) { return event }
        return nil
    }

    /// Returns all events, once the provider has ended.
    func all() async -> [ProviderEvent] {
        var events: [ProviderEvent] = []
        for await event in self { events.append(event) }
        return events
    }
}

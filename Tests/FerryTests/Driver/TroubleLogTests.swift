import FerryTesting
import Logging
import NIOCore
import Synchronization
import Testing

@testable import Ferry

@Suite struct TroubleLogTests {
    private static let start = NIODeadline.uptimeNanoseconds(1_000)

    @Test func `the same trouble is news once a minute, and other trouble after a second`() {
        var log = TroubleLog()
        let (one, other) = (ProviderError(.connectFailed, "one"), ProviderError(.connectFailed, "other"))
        func level(_ error: ProviderError, after time: TimeAmount) -> Logger.Level {
            log.level(.warning, error, now: Self.start + time)
        }
        #expect(level(one, after: .zero) == .warning)
        #expect(level(one, after: .seconds(59)) == .debug)
        #expect(level(one, after: .seconds(60)) == .warning)
        #expect(level(other, after: .milliseconds(60_999)) == .debug)
        #expect(level(other, after: .seconds(61)) == .warning)
        // Only the time in it has changed.
        let times = ["Within 0.5 s", "Within 1 s"].map { ProviderError(.connectionRetryLimit, $0) }
        #expect(level(times[0], after: .seconds(61)) == .warning)
        #expect(level(times[1], after: .seconds(63)) == .debug)
        // Another kind of trouble is news at once.
        #expect(level(ProviderError(.noProviderToken, "none"), after: .seconds(61)) == .warning)
    }

    /// Keeps what is logged at `warning` and above.
    private struct Keeper: LogHandler {
        let lines: Mutex<[String]>.Reference
        var metadata = Logger.Metadata()
        var logLevel = Logger.Level.warning

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { self.metadata[key] }
            set { self.metadata[key] = newValue }
        }

        func log(event: LogEvent) {
            let detail = event.metadata?["apns.error"] ?? event.metadata?["apns.report"]
            let words = "\(event.level): \(event.message) \(detail.map { "\($0)" } ?? "")"
            self.lines.append(words)
        }
    }

    @Test(.timeLimit(.minutes(10)))
    func `a gateway that is not trusted is logged, with what to do`() async throws {
        try await Harness.run { harness in
            let lines = Mutex<[String]>.Reference()
            var configuration = harness.configuration
            configuration.trustRoots = try TestCredentials().trustRoots
            configuration.logger = Logger(label: "test") { _ in Keeper(lines: lines) }
            let provider = try BinaryProvider(configuration)
            try await Harness.submit(0..<3, to: provider)
            await harness.outcomes.count(reaches: 3)
            _ = await provider.shutDown(within: Harness.forever)
            let logged = lines.all
            #expect(logged.count == 1)
            #expect(logged.first?.hasPrefix("error: provider failed ") == true)
            #expect(
                logged.allSatisfy { $0.contains("none of the trust roots issued it: add the CA that did") },
                "\(logged)"
            )
        }
    }

    @Test(.timeLimit(.minutes(10)))
    func `the last trouble is said once, and not again at the end`() async throws {
        try await Harness.run { harness in
            let lines = Mutex<[String]>.Reference()
            var configuration = harness.configuration
            configuration.outcomes = .discard
            configuration.trustRoots = try TestCredentials().trustRoots
            configuration.logger = Logger(label: "test") { _ in Keeper(lines: lines) }
            let provider = try BinaryProvider(configuration)
            try await Harness.submit(0..<3, to: provider)
            _ = await provider.shutDown(within: Harness.forever)
            #expect(lines.all.count == 2)
            #expect(lines.all.first?.hasPrefix("error: provider failed ") == true)
            #expect(lines.all.last == "warning: ended 3 undelivered")
        }
    }

    @Test(.timeLimit(.minutes(10)))
    func `an outcome that a caller got is no news at the end`() async throws {
        try await Harness.run { harness in
            let lines = Mutex<[String]>.Reference()
            var configuration = harness.configuration
            configuration.outcomes = .discard
            configuration.trustRoots = try TestCredentials().trustRoots
            configuration.logger = Logger(label: "test") { _ in Keeper(lines: lines) }
            let provider = try BinaryProvider(configuration)
            let outcome = try await provider.send(PushNotification(json: "{}".utf8), to: Harness.device(1))
            #expect(outcome == .undelivered(.noConnection))
            _ = await provider.shutDown(within: Harness.forever)
            #expect(lines.all.count == 1)
            #expect(lines.all.first?.hasPrefix("error: provider failed ") == true, "\(lines.all)")
        }
    }

    @Test(.timeLimit(.minutes(10)))
    func `a second reader of outcomes or events ends at once, and is logged`() async throws {
        try await Harness.run { harness in
            let lines = Mutex<[String]>.Reference()
            var configuration = harness.configuration
            configuration.outcomes = .stream
            configuration.logger = Logger(label: "test") { _ in Keeper(lines: lines) }
            let provider = try BinaryProvider(configuration)
            let (outcomes, events) = (provider.outcomes, provider.events(bufferingNewest: 1))
            // Of two readers one waits. The other ends at once, which is the first to end.
            let ended = await withTaskGroup { group in
                for _ in 0..<2 {
                    group.addTask { await outcomes.first { _ in true } == nil ? "outcomes" : "" }
                    group.addTask { await events.first { _ in true } == nil ? "events" : "" }
                }
                let first = await [group.next(), group.next()].compactMap(\.self)
                group.cancelAll()
                return first
            }
            #expect(Set(ended) == ["outcomes", "events"])
            let line = "error: two tasks read the same sequence: the second ends at once "
            #expect(lines.all == [line, line])
            _ = await provider.shutDown(within: Harness.forever)
        }
    }

    @Test(.timeLimit(.minutes(10)))
    func `a dropped provider whose outcomes nobody gets says at its end that notifications are lost`() async throws {
        try await Harness.run { harness in
            let lines = Mutex<[String]>.Reference()
            var configuration = harness.configuration
            configuration.outcomes = .discard
            configuration.options.settleTime = Harness.forever
            configuration.logger = Logger(label: "test") { _ in Keeper(lines: lines) }
            let events: ProviderEvents
            do {
                let provider = try BinaryProvider(configuration)
                events = provider.events(bufferingNewest: 100)
                try await Harness.submit(0..<3, to: provider)
                _ = await events.first { if case .transmitted = $0 { true } else { false } }
            }
            _ = await events.all()
            #expect(
                lines.all == ["warning: ended, because the last reference to the provider was dropped 3 uncertain"]
            )
        }
    }
}

extension Mutex<[String]> {
    /// A list that several owners share.
    fileprivate final class Reference: Sendable {
        private let state = Mutex([])
        var all: [String] { self.state.withLock { $0 } }
        func append(_ line: String) { self.state.withLock { $0.append(line) } }
    }
}

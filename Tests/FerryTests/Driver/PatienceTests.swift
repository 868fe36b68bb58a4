import FerryOpenSSL
import FerryTesting
import Logging
import Synchronization
import Testing

@testable import Ferry

@Suite struct PatienceTests {
    @Test func `the bounds of each protocol are named, with the options that shorten them`() {
        var binary = BinaryOptions()
        #expect(
            Patience(binary: binary).words(nil)
                == "notifications wait while at most 10 connections in a row fail (connectionRetryLimit); a smaller value of "
                + "BinaryOptions shortens that"
        )
        binary.deadline = .milliseconds(1500)
        binary.connectionRetryTime = .seconds(20)
        #expect(
            Patience(binary: binary).words(.binary)
                == "notifications wait for 1.5 s (deadline), and while at most 10 connections in a row fail "
                + "(connectionRetryLimit), and while connections fail for at most 20 s (connectionRetryTime); a smaller value of "
                + "BinaryOptions shortens that"
        )
        (binary.deadline, binary.connectionRetryLimit, binary.connectionRetryTime) = (nil, nil, nil)
        let both = Patience(binary: binary, http2: HTTP2Options())
        #expect(both.words(.binary)?.hasPrefix("notifications wait for ever: set deadline") == true)
        #expect(both.words(.http2)?.hasPrefix("notifications wait for 60 s (deadline), and while at most 10") == true)
    }

    /// Keeps what is logged, with how long notifications wait.
    private struct Keeper: LogHandler {
        let lines: Lines
        var metadata = Logger.Metadata()
        var logLevel = Logger.Level.warning

        final class Lines: Sendable {
            private let lines = Mutex<[String]>([])
            private let (news, continuation) = AsyncStream<String>.makeStream()

            var all: [String] { self.lines.withLock(\.self) }

            func append(_ line: String) {
                self.lines.withLock { $0.append(line) }
                self.continuation.yield(line)
            }

            /// Waits for a line with this beginning.
            func wait(for beginning: String) async {
                for await line in self.news where line.hasPrefix(beginning) { return }
            }
        }

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { self.metadata[key] }
            set { self.metadata[key] = newValue }
        }

        func log(event: LogEvent) {
            let wait = event.metadata?["apns.wait"] ?? self.metadata["apns.wait"]
            self.lines.append("\(event.message): \(wait.map { "\($0)" } ?? "")")
        }
    }

    private static func configuration(_ credentials: TestCredentials, _ lines: Keeper.Lines) throws
        -> HTTP2Configuration
    {
        let tokens = try ProviderTokenSource(
            key: credentials.tokenKey,
            keyID: credentials.keyID,
            teamID: credentials.teamID
        )
        var configuration = HTTP2Configuration(
            host: "localhost",
            port: 1,
            credentials: .token(tokens),
            topic: "com.example.ferry",
            outcomes: .discard
        )
        configuration.trustRoots = credentials.trustRoots
        configuration.options.connectionRetryLimit = 1
        configuration.logger = Logger(label: "test") { _ in Keeper(lines: lines) }
        return configuration
    }

    @Test(.timeLimit(.minutes(10)), arguments: ["localhost", "no-such-host.invalid"])
    func `the first failure is logged with the wait, and the outcome in words has its cause`(host: String) async throws
    {
        let lines = Keeper.Lines()
        var configuration = try Self.configuration(TestCredentials(), lines)
        configuration.host = host
        let words = try await withProvider(configuration) { provider in
            provider.inWords(try await provider.send(PushNotification(json: "{}".utf8), to: DeviceToken([1])))
        }
        let wait =
            "connection failed: notifications wait for 60 s (deadline), and while at most 1 connections in a row fail"
        #expect(lines.all.first?.hasPrefix(wait) == true, "\(lines.all)")
        #expect(words.hasPrefix("undelivered: noConnection. "), "\(words)")
        #expect(words.contains("No connection to \(host):1: "), "\(words)")
    }

    @Test(.timeLimit(.minutes(10)))
    func `without a provider token the first failure is logged with the wait, too`() async throws {
        struct NoToken: Error {}
        let credentials = try TestCredentials()
        let apns = try await SimulatedAPNs.start(.init(credentials: credentials))
        let lines = Keeper.Lines()
        var configuration = try Self.configuration(credentials, lines)
        configuration.port = apns.port
        configuration.credentials = .token(ProviderTokenSource { throw NoToken() })
        let provider = try HTTP2Provider(configuration)
        let sending = Task { try await provider.send(PushNotification(json: "{}".utf8), to: DeviceToken([1])) }
        await lines.wait(for: "provider failed: notifications wait for 60 s (deadline)")
        _ = await provider.shutDown(within: .zero)
        let words = provider.inWords(try await sending.value)
        #expect(words.contains("The program gives no provider token"), "\(words)")
        await apns.stop()
    }

    @Test func `an outcome that explains itself needs no trouble`() async throws {
        let provider = FakeProvider()
        #expect(provider.inWords(.accepted(.confirmed)) == "accepted (confirmed)")
        let rejection = Rejection(reason: .badDeviceToken, origin: .apns, status: 400)
        #expect(provider.inWords(.rejected(rejection)).hasPrefix("rejected: BadDeviceToken (400). "))
        #expect(
            provider.inWords(.undelivered(.noConnection)).hasPrefix(
                "undelivered: noConnection. There was no connection"
            )
        )
        provider.report(.error(ProviderError(.connectFailed, "It is down.")))
        #expect(provider.inWords(.undelivered(.noConnection)) == "undelivered: noConnection. It is down.")
        #expect(provider.inWords(.expired).hasPrefix("expired. The expiration passed"))
    }
}

import Ferry
import FerryOpenSSL
import FerryTerminal
import FerryTesting
import Testing

@Suite(.timeLimit(.minutes(10))) struct ConnectionAdviceTests {
    /// The message of a provider with these settings about its first connection.
    static func failure(
        authority: ThrowAwayCA? = nil,
        hasIdentity: Bool = true,
        serverName: String = "localhost"
    ) async throws -> String {
        let credentials = try TestCredentials()
        let gateway = try await SimulatedGateway.start(.init(credentials: credentials))
        var configuration = BinaryConfiguration(
            host: gateway.host,
            port: gateway.port,
            identity: hasIdentity ? credentials.client : nil,
            outcomes: .discard
        )
        configuration.trustRoots = credentials.trustRoots
        if let authority { configuration.trustRoots = authority.trustRoots }
        configuration.serverName = serverName
        let provider = try BinaryProvider(configuration)
        let events = provider.events(bufferingNewest: 100)
        let notification = try PushNotification(json: "{}".utf8)
        var batch = PushBatch()
        try batch.append(notification, to: DeviceToken(hex: "00"), tag: 0)
        provider.trySubmit(&batch)
        var sentence = ""
        for await event in events {
            switch event {
            case .socketError(_, let error) where error.code != .connectionLost, .error(let error):
                sentence = ConnectionAdvice.sentence(error, hasIdentity: hasIdentity)
            default: continue
            }
            break
        }
        _ = await provider.shutDown(within: .zero)
        await gateway.stop()
        return sentence
    }

    @Test func `an unknown authority is to be named with --ca`() async throws {
        let sentence = try await Self.failure(authority: ThrowAwayCA())
        #expect(sentence.hasSuffix("name the CA that did with --ca."), "\(sentence)")
    }

    @Test func `another name is to be given with --server-name`() async throws {
        let sentence = try await Self.failure(serverName: "other.example")
        #expect(sentence.hasSuffix("or give one with --server-name."), "\(sentence)")
    }

    @Test func `a certificate that is asked for is to be given with --cert and --key, or --p12`() async throws {
        let sentence = try await Self.failure(hasIdentity: false)
        #expect(sentence.contains("--cert and --key, or --p12"), "\(sentence)")
    }

    @Test func `a provider token that is refused is no matter of certificates`() {
        let error = ProviderError(.credentialsRejected, "It rejects one after the other.")
        #expect(ConnectionAdvice.sentence(error, hasIdentity: false) == error.message)
    }

    @Test func `a peer that closes without a word may be a feedback service or a server of HTTP/2`() async throws {
        let credentials = try TestCredentials()
        // Its list is empty, so it closes at once.
        let service = try await SimulatedFeedback.start(.init(credentials: credentials))
        var configuration = BinaryConfiguration(
            host: service.host,
            port: service.port,
            identity: credentials.client,
            outcomes: .discard
        )
        configuration.trustRoots = credentials.trustRoots
        configuration.serverName = "localhost"
        configuration.options.connectionRetryLimit = 1
        let provider = try BinaryProvider(configuration)
        let events = provider.events(bufferingNewest: 100)
        var batch = PushBatch()
        for tag in 0..<2 as Range<UInt64> {
            try batch.append(PushNotification(json: "{}".utf8), to: DeviceToken(hex: "00"), tag: PushTag(tag))
        }
        provider.trySubmit(&batch)
        let errors = events.compactMap { if case .error(let error) = $0 { error } else { nil } }
        let error = try #require(await errors.first { _ in true })
        #expect(error.code == .connectionRetryLimit)
        let sentence = ConnectionAdvice.sentence(error, hasIdentity: true)
        #expect(sentence.hasPrefix(error.message))
        #expect(sentence.contains("ferry feedback"), "\(sentence)")
        #expect(sentence.contains("--backend http2"), "\(sentence)")
        _ = await provider.shutDown(within: .zero)
        await service.stop()
    }

    @Test func `a peer of no known protocol may be a server of HTTP/2 whose first bytes come one by one`() {
        let message =
            "It began with byte 0. Check that host and port are those of a binary gateway, and not of APNs over HTTP/2."
        let sentence = ConnectionAdvice.sentence(ProviderError(.protocolViolation, message), hasIdentity: true)
        #expect(sentence.hasPrefix("It began with byte 0."))
        #expect(sentence.contains("--backend http2"))
    }

    @Test func `who gave up after too many connections is told how to try longer`() {
        let error = ProviderError(.connectionRetryLimit, "Within 2 s 4 connections in a row failed.")
        let sentence = ConnectionAdvice.sentence(error, hasIdentity: true)
        #expect(sentence.hasPrefix("\(error.message) To try longer, raise --connection-retry-time"))
    }

    @Test func `a key that is locked is to be opened with --passphrase-file`() throws {
        let client = try TestCredentials().client
        let archive = try client.pkcs12(passphrase: "secret")
        #expect {
            try TLSIdentity(pkcs12: archive, passphrase: "")
        } throws: { error in
            (error as? TLSError).map { ConnectionAdvice.sentence($0).hasSuffix("with --passphrase-file.") } ?? false
        }
    }
}

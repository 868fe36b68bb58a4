import Ferry
import FerryMachine
import FerryOpenSSL
import FerryTesting
import NIOCore
import Synchronization
import Testing

/// Tests that replace the key of provider tokens while a provider sends over real sockets.
@Suite(.timeLimit(.minutes(10)), .inEveryArrangement, .namingTheArrangement) struct KeyReplacementTests {
    @Test func `a key that is replaced and then revoked under load costs no notification and doubles none`()
        async throws
    {
        let isRevoked = Mutex(false)
        let first = Mutex<String?>(nil)
        let accepted = Mutex<[Int: Int]>([:])
        let refused = Mutex(0)
        try await RawAPNs.run { request in
            let authorization = request.fields["authorization"]
            if isRevoked.withLock({ $0 }), authorization == first.withLock({ $0 }) {
                refused.withLock { $0 += 1 }
                return .init(status: 403, body: #"{"reason":"InvalidProviderToken"}"#)
            }
            if let number = request.number { accepted.withLock { $0[number, default: 0] += 1 } }
            return .init()
        } _: { apns in
            let source = try apns.source()
            let token = try source.token()
            first.withLock { $0 = "bearer \(token)" }
            let outcomes = OutcomeCollector()
            var configuration = try apns.configuration(.token(source), outcomes)
            // The threshold is never reached, so refusals of the old key do not pause sending.
            configuration.options.circuitBreaker?.threshold = 2
            // The deadlines are long, so that a slow machine does not fail the test.
            configuration.options.attemptTimeout = .seconds(600)
            configuration.options.deadline = .seconds(600)
            let provider = try TestedProvider(configuration)
            try await Harness.submit(0..<2000, to: provider)
            await outcomes.count(reaches: 1)
            try source.replace(key: .generate(), keyID: "NEWKEY0001")
            isRevoked.withLock { $0 = true }
            try await Harness.submit(2000..<4000, to: provider)
            let report = await provider.shutDown(within: .seconds(600))
            #expect(report.unsettled == 0)
            #expect(report.outcomes.confirmed == 4000)
            #expect(accepted.withLock { $0.count } == 4000)
            #expect(accepted.withLock { $0.values.allSatisfy { $0 == 1 } })
            // A loop that connects after the replacement has no connection of the old key.
            let loops = Arrangement.current.loops
            #expect((loops + 1...2 * loops).contains(apns.connections))
            #expect(source.keyID == "NEWKEY0001")
            #expect(try source.token() != token)
            #expect(source.mintCount == 2)
        }
    }

    @Test func `an idle provider replaces its connection before its next request`() async throws {
        try await RawAPNs.run { apns in
            let source = try apns.source()
            let provider = try TestedProvider(apns.configuration(.token(source), OutcomeCollector()))
            let notification = try PushNotification(json: #"{"aps":{}}"#.utf8)
            #expect(try await provider.send(notification, to: Harness.device(1)) == .accepted(.confirmed))
            try source.replace(key: .generate(), keyID: "NEWKEY0001")
            #expect(try await provider.send(notification, to: Harness.device(2)) == .accepted(.confirmed))
            #expect(Set(apns.requests.compactMap { $0.fields["authorization"] }).count == 2)
            #expect(apns.connections == 2)
            _ = await provider.shutDown(within: .seconds(60))
        }
    }

    @Test func `a replaced key takes part in neither the 20 minutes of the first nor in its refusals`() throws {
        let source = try ProviderTokenSource(key: .generate(), keyID: "ABCDE12345", teamID: "FGHIJ67890")
        let first = try source.token()
        for reason in [Reason.expiredProviderToken, .tooManyProviderTokenUpdates] {
            guard case .token(let token) = source.authorization(now: .now(), epochSeconds: 1) else {
                Issue.record("no token")
                return
            }
            source.refused(reason, token, now: .now())
            #expect(throws: ProviderError.self) { try source.token() }
            try source.replace(key: .generate(), keyID: "NEWKEY0001")
            #expect(try source.token() != first)
        }
    }

    @Test func `an identifier that cannot be one leaves the key as it was`() throws {
        let source = try ProviderTokenSource(key: .generate(), keyID: "ABCDE12345", teamID: "FGHIJ67890")
        let token = try source.token()
        #expect(throws: ConfigurationError.self) { try source.replace(key: .generate(), keyID: "no") }
        #expect(try source.token() == token)
        #expect(source.keyID == "ABCDE12345")
    }

    @Test func `where tokens are made elsewhere there is no key to replace`() throws {
        let source = ProviderTokenSource { "token" }
        let error = #expect(throws: ConfigurationError.self) {
            try source.replace(key: .generate(), keyID: "ABCDE12345")
        }
        #expect(error?.code == .keyNotHere)
    }
}

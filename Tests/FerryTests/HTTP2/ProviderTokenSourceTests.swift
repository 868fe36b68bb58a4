import FerryCore
import FerryHTTP2
import FerryMachine
import FerryOpenSSL
import Foundation
import NIOCore
import Synchronization
import Testing

@testable import Ferry

@Suite struct ProviderTokenSourceTests {
    private static let start = NIODeadline.uptimeNanoseconds(1_000_000_000_000)

    private static func source(_ key: ES256Key) throws -> ProviderTokenSource {
        try ProviderTokenSource(key: key, keyID: "ABCDE12345", teamID: "FGHIJ67890")
    }

    @Test func `a token is made once for all who ask, and its key's signature is on it`() async throws {
        let key = try ES256Key.generate()
        let source = try Self.source(key)
        #expect(source.mintCount == 0)
        let tokens = try await withThrowingTaskGroup(of: String.self) { group in
            for _ in 0..<100 { group.addTask { try source.token() } }
            return try await group.reduce(into: Set()) { $0.insert($1) }
        }
        #expect(source.mintCount == 1)
        let token = try #require(tokens.first)
        #expect(tokens.count == 1)
        let parts = token.split(separator: ".")
        let signature = try #require(Base64URL.decode(parts[2].utf8))
        #expect(key.isValidSignature(signature, for: Array("\(parts[0]).\(parts[1])".utf8)))
        guard case .token(let used) = source.authorization(now: .now(), epochSeconds: 1) else {
            Issue.record("no token")
            return
        }
        #expect(String(decoding: used.headerValue, as: UTF8.self) == "bearer \(token)")
    }

    @Test func `it is renewed, and says when each was issued`() throws {
        let source = try Self.source(.generate())
        let first = try source.issue(now: Self.start, epochSeconds: 1000)
        #expect(first.issuedAt == 1000)
        let same = try source.issue(now: Self.start + .minutes(49), epochSeconds: 5000)
        #expect(same == first)
        let second = try source.issue(now: Self.start + .minutes(50), epochSeconds: 5000)
        #expect(second.issuedAt == 5000)
        #expect(source.mintCount == 2)
        #expect(source.failure == nil)
    }

    @Test func `the time that the machine sleeps counts for a token's age`() throws {
        let slept = Mutex<TimeAmount>(.zero)
        let source = try ProviderTokenSource(key: .generate(), keyID: "ABCDE12345", teamID: "FGHIJ67890") {
            slept.withLock { $0 }
        }
        #expect(try source.issue(now: Self.start, epochSeconds: 1000).issuedAt == 1000)
        slept.withLock { $0 = .minutes(60) }
        guard case .token(let token) = source.authorization(now: Self.start + .minutes(1), epochSeconds: 4660) else {
            Issue.record("no token")
            return
        }
        #expect(source.mintCount == 2)
        source.refused(.expiredProviderToken, token, now: Self.start + .minutes(2))
        let held = source.authorization(now: Self.start + .minutes(2), epochSeconds: 4720)
        #expect(held == .held(until: Self.start + .minutes(21)))
        slept.withLock { $0 = .minutes(79) }
        #expect(try source.issue(now: Self.start + .minutes(2), epochSeconds: 5860).issuedAt == 5860)
        #expect(source.mintCount == 3)
    }

    @Test func `a machine that is awake has not slept`() {
        #expect(SleepTime().total == .zero)
    }

    @Test func `a refused token is not given away, and the error says when there will be another`() throws {
        let source = try Self.source(.generate())
        guard case .token(let token) = source.authorization(now: Self.start, epochSeconds: 1000) else {
            Issue.record("no token")
            return
        }
        source.refused(.expiredProviderToken, token, now: Self.start + .minutes(1))
        let now = Self.start + .minutes(2)
        #expect(source.authorization(now: now, epochSeconds: 1120) == .held(until: Self.start + .minutes(20)))
        let error = #expect(throws: ProviderError.self) { try source.issue(now: now, epochSeconds: 1120) }
        #expect(error?.code == .credentialsRejected)
        #expect(error?.message == "APNs has refused the provider token; the next can be had in 1080 s.")
        #expect(source.mintCount == 1)
    }

    @Test(
        arguments: [
            ("ABCDE1234", "FGHIJ67890", "The key ID must be 10 capital letters and digits, and this has 9 characters"),
            ("abcde12345", "FGHIJ67890", "The key ID must be 10 capital letters and digits, and this has others"),
            (
                "ABCDE12345", "com.example",
                "The team ID must be 10 capital letters and digits, and this has 11 characters"
            ),
            ("ABCDE12345", "", "The team ID must be 10 capital letters and digits, and this has 0 characters"),
        ]
    )
    func `an identifier that cannot be one is refused with its name`(keyID: String, teamID: String, words: String)
        throws
    {
        let key = try ES256Key.generate()
        let error = #expect(throws: ConfigurationError.self) {
            try ProviderTokenSource(key: key, keyID: keyID, teamID: teamID)
        }
        #expect(error?.code == .malformedIdentifier)
        #expect(error?.description.hasPrefix(words) == true)
    }

    @Test func `no description shows the key or the token`() throws {
        let key = try ES256Key.generate()
        let source = try Self.source(key)
        let token = try source.token()
        var texts = ["\(source)", String(describing: source), String(reflecting: source), String(reflecting: key)]
        for value in [source, key] as [Any] {
            var text = ""
            dump(value, to: &text)
            texts.append(text)
        }
        let secret = String(decoding: try key.p8(), as: UTF8.self).split(separator: "\n")[1]
        for text in texts {
            #expect(!text.contains(token))
            #expect(!text.contains(token.split(separator: ".")[2]))
            #expect(!text.contains(secret))
            #expect(!text.contains("bearer"))
        }
        #expect(texts[0] == "ProviderTokenSource(keyID: ABCDE12345, teamID: FGHIJ67890)")
    }
}

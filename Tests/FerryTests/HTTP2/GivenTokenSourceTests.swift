import FerryHTTP2
import FerryMachine
import FerryOpenSSL
import Foundation
import NIOCore
import Synchronization
import Testing

@testable import Ferry

/// Tests of provider tokens that another program makes.
@Suite(.timeLimit(.minutes(10))) struct GivenTokenSourceTests {
    private static let start = NIODeadline.uptimeNanoseconds(1_000_000_000_000)
    private static let epochSeconds: UInt32 = 1_700_000_000

    private static func token(_ keyID: String = "ABCDE12345", issuedAt: UInt32 = epochSeconds) throws -> String {
        let key = try ES256Key.generate()
        let source = try ProviderTokenSource(key: key, keyID: keyID, teamID: "FGHIJ67890")
        return try source.issue(now: self.start, epochSeconds: issuedAt).token
    }

    private static func withFile(_ body: (String) throws -> Void) throws {
        let directory = FileManager.default.temporaryDirectory.appending(path: "ferry-token-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: directory) }
        try body(directory.appending(path: "token.jwt").path)
    }

    /// Writes the way a careful program does: to a temporary file, which is then renamed.
    private static func write(_ text: String, _ path: String) throws {
        try Data(text.utf8).write(to: URL(filePath: path), options: .atomic)
    }

    private func text(_ authorization: Authorization) -> String? {
        guard case .token(let token) = authorization else { return nil }
        return String(decoding: token.headerValue, as: UTF8.self)
    }

    @Test func `the token of a file is used, and another when the file has changed`() throws {
        try Self.withFile { path in
            let (first, second) = (try Self.token(), try Self.token(issuedAt: Self.epochSeconds + 1200))
            try Self.write(first + "\n", path)
            let source = ProviderTokenSource(tokenFile: path)
            #expect(source.keyID == nil && source.teamID == nil)
            #expect(
                text(source.authorization(now: Self.start, epochSeconds: Self.epochSeconds)) == "bearer \(first)"
            )
            #expect(source.keyID == "ABCDE12345")
            try Self.write(second, path)
            let later = source.authorization(now: Self.start + .minutes(20), epochSeconds: Self.epochSeconds + 1200)
            #expect(text(later) == "bearer \(second)")
            #expect(source.mintCount == 2)
            #expect(source.failure == nil)
        }
    }

    @Test func `a file that comes later, is gone for a while or is seen half does no harm`() throws {
        try Self.withFile { path in
            let source = ProviderTokenSource(tokenFile: path)
            var now = Self.start
            #expect(
                source.authorization(now: now, epochSeconds: Self.epochSeconds) == .held(until: now + .seconds(1))
            )
            #expect(source.failure.map { "\($0)" }?.contains("cannot be read: No such file") == true)
            let first = try Self.token()
            for content in [String(first.prefix(first.count / 2)), "", String(first.dropLast(1)), "two words"] {
                try Self.write(content, path)
                now = now + .seconds(1)
                #expect(text(source.authorization(now: now, epochSeconds: Self.epochSeconds)) == nil)
                #expect(source.failure.map { "\($0)" }?.contains(first.prefix(20)) == false)
            }
            try Self.write(first, path)
            now = now + .seconds(1)
            #expect(text(source.authorization(now: now, epochSeconds: Self.epochSeconds)) == "bearer \(first)")
            try FileManager.default.removeItem(atPath: path)
            now = now + .seconds(1)
            #expect(text(source.authorization(now: now, epochSeconds: Self.epochSeconds)) == "bearer \(first)")
            #expect(throws: (any Error).self) {
                try source.issue(now: now + .minutes(60), epochSeconds: Self.epochSeconds + 3600)
            }
        }
    }

    @Test func `a token that is too old by its own word is not sent, and the failure says how old it is`() throws {
        try Self.withFile { path in
            try Self.write(Self.token(issuedAt: Self.epochSeconds - 7200), path)
            let source = ProviderTokenSource(tokenFile: path)
            let error = #expect(throws: TokenSupply.Failure.self) {
                try source.issue(now: Self.start, epochSeconds: Self.epochSeconds)
            }
            #expect(error?.description.contains("was made 7200 s ago by this machine's clock") == true)
            #expect(error?.description.contains("token.jwt") == true)
        }
    }

    @Test func `a refused token is held until the file has another`() throws {
        try Self.withFile { path in
            try Self.write(Self.token(issuedAt: Self.epochSeconds - 1800), path)
            let source = ProviderTokenSource(tokenFile: path)
            guard case .token(let token) = source.authorization(now: Self.start, epochSeconds: Self.epochSeconds) else {
                Issue.record("no token")
                return
            }
            source.refused(.expiredProviderToken, token, now: Self.start)
            let second = Self.start + .seconds(1)
            #expect(
                source.authorization(now: second, epochSeconds: Self.epochSeconds) == .held(until: second + .seconds(1))
            )
            #expect(source.failure.map { "\($0)" }?.contains("APNs has refused the provider token in ") == true)
            let next = try Self.token()
            try Self.write(next, path)
            let third = second + .seconds(1)
            #expect(text(source.authorization(now: third, epochSeconds: Self.epochSeconds)) == "bearer \(next)")
        }
    }

    @Test func `what cannot be read again, such as a pipe, is refused and not waited for`() throws {
        try Self.withFile { path in
            #expect(mkfifo(path, 0o600) == 0)
            let source = ProviderTokenSource(tokenFile: path)
            #expect(text(source.authorization(now: Self.start, epochSeconds: Self.epochSeconds)) == nil)
            #expect(source.failure.map { "\($0)" }?.contains("is no regular file") == true)
        }
    }

    @Test func `a closure is asked when a token is wanted, once a second at most, and its error is not shown`() throws {
        struct Leak: Error, CustomStringConvertible {
            var description: String { "geheim" }
        }
        let calls = Mutex(0)
        let token = try Self.token()
        let isBroken = Mutex(true)
        let source = ProviderTokenSource {
            calls.withLock { $0 += 1 }
            if isBroken.withLock({ $0 }) { throw Leak() }
            return token
        }
        #expect(calls.withLock { $0 } == 0)
        for _ in 0..<10 {
            #expect(text(source.authorization(now: Self.start, epochSeconds: Self.epochSeconds)) == nil)
        }
        #expect(calls.withLock { $0 } == 1)
        let failure = try #require(source.failure.map { "\($0)" })
        #expect(failure == "The program gives no provider token (it throws Leak).")
        isBroken.withLock { $0 = false }
        for _ in 0..<10 {
            let authorization = source.authorization(now: Self.start + .seconds(1), epochSeconds: Self.epochSeconds)
            #expect(text(authorization) == "bearer \(token)")
        }
        #expect(calls.withLock { $0 } == 2)
        #expect(source.failure == nil)
    }

    @Test func `a provider sends with the token of a file, and moves to a new connection when its key changes`()
        async throws
    {
        let directory = FileManager.default.temporaryDirectory.appending(path: "ferry-token-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: directory) }
        let path = directory.appending(path: "token.jwt").path
        let epochSeconds = UInt32(Date().timeIntervalSince1970)
        try Self.write(Self.token(issuedAt: epochSeconds), path)
        try await RawAPNs.run { apns in
            let source = ProviderTokenSource(tokenFile: path)
            let provider = try HTTP2Provider(apns.configuration(.token(source), OutcomeCollector()))
            let notification = try PushNotification(json: #"{"aps":{}}"#.utf8)
            #expect(try await provider.send(notification, to: Harness.device(1)) == .accepted(.confirmed))
            let other = try Self.token("ZZZZZ99999", issuedAt: epochSeconds)
            try Self.write(other, path)
            let deadline = ContinuousClock.now + .seconds(30)
            // The file is checked once a second.
            while apns.connections < 2, .now < deadline {
                #expect(try await provider.send(notification, to: Harness.device(2)) == .accepted(.confirmed))
            }
            #expect(apns.connections == 2)
            #expect(apns.requests.last?.fields["authorization"] == "bearer \(other)")
            #expect(source.keyID == "ZZZZZ99999")
            _ = await provider.shutDown(within: .seconds(60))
        }
    }

    @Test func `no description shows a token`() throws {
        let token = try Self.token()
        let source = ProviderTokenSource { token }
        _ = try? source.token()
        var dumped = ""
        dump(source, to: &dumped)
        for text in ["\(source)", String(reflecting: source), dumped] { #expect(!text.contains(token)) }
    }
}

import FerryHTTP2
import FerryMachine
import FerryOpenSSL
import Foundation
import NIOCore
import Testing

@testable import Ferry

/// Several sources stand for several processes: they have nothing in common but the file.
@Suite struct SharedTokenFileTests {
    /// The uptime of the machine: a day.
    private static let start = NIODeadline.uptimeNanoseconds(86_400_000_000_000)

    private struct Bench: ~Copyable {
        let directory = FileManager.default.temporaryDirectory.appending(path: "ferry-\(UUID().uuidString)")
        let key: ES256Key

        init() throws {
            try FileManager.default.createDirectory(at: self.directory, withIntermediateDirectories: true)
            self.key = try ES256Key.generate()
        }

        deinit { try? FileManager.default.removeItem(at: self.directory) }

        var file: URL { self.directory.appending(path: "token") }

        func source(_ key: ES256Key? = nil, keyID: String = "ABCDE12345") throws -> ProviderTokenSource {
            try ProviderTokenSource(
                sharingIn: self.file.path(),
                key: key ?? self.key,
                keyID: keyID,
                teamID: "FGHIJ67890"
            )
        }

        func text() throws -> String { try String(contentsOf: self.file, encoding: .utf8) }
    }

    @Test func `a token is made once, and the file is for its owner`() throws {
        let bench = try Bench()
        let first = try bench.source().issue(now: SharedTokenFileTests.start, epochSeconds: 5000)
        let second = try bench.source().issue(now: SharedTokenFileTests.start, epochSeconds: 5000 + 49 * 60)
        #expect(first == second)
        #expect(try bench.text() == first.token)
        for name in ["token", "token.lock"] {
            let path = bench.directory.appending(path: name).path()
            #expect(try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int == 0o600)
        }
        #expect(try FileManager.default.contentsOfDirectory(atPath: bench.directory.path()).count == 2)
    }

    @Test func `a token that another process made keeps its age`() throws {
        let bench = try Bench()
        _ = try bench.source().issue(now: SharedTokenFileTests.start, epochSeconds: 5000)
        let other = try bench.source()
        let taken = try other.issue(now: SharedTokenFileTests.start, epochSeconds: 5000 + 40 * 60)
        #expect(taken.issuedAt == 5000)
        let renewed = try other.issue(now: SharedTokenFileTests.start + .minutes(10), epochSeconds: 5000 + 50 * 60)
        #expect(renewed.issuedAt == 5000 + 50 * 60)
        #expect(try bench.text() == renewed.token)
    }

    @Test func `what is in the file is not used if it is old, of the future, of another key, or no token`() throws {
        let bench = try Bench()
        let old = try bench.source().issue(now: SharedTokenFileTests.start, epochSeconds: 5000)
        for now in [5000 + 50 * 60, 4999] as [UInt32] {
            try Data(old.token.utf8).write(to: bench.file)
            #expect(try bench.source().issue(now: SharedTokenFileTests.start, epochSeconds: now).issuedAt == now)
        }
        for text in ["", "nonsense", old.token + "AAAA", String(repeating: "a.b", count: 10_000)] {
            try Data(text.utf8).write(to: bench.file)
            #expect(try bench.source().issue(now: SharedTokenFileTests.start, epochSeconds: 5001).issuedAt == 5001)
        }
        try Data(old.token.utf8).write(to: bench.file)
        let other = try bench.source(ES256Key.generate()).issue(now: SharedTokenFileTests.start, epochSeconds: 5001)
        #expect(other.issuedAt == 5001)
        try Data(old.token.utf8).write(to: bench.file)
        let renamed = try bench.source(keyID: "ZZZZZ12345").issue(now: SharedTokenFileTests.start, epochSeconds: 5001)
        #expect(renamed.issuedAt == 5001)
    }

    @Test func `a token that is older than the clock of the machine keeps its age`() throws {
        let bench = try Bench()
        _ = try bench.source().issue(now: SharedTokenFileTests.start, epochSeconds: 5000)
        let minute = NIODeadline.uptimeNanoseconds(60_000_000_000)
        let source = try bench.source()
        #expect(try source.issue(now: minute, epochSeconds: 5000 + 45 * 60).issuedAt == 5000)
        #expect(try source.issue(now: minute + .seconds(299), epochSeconds: 8000 - 1).issuedAt == 5000)
        #expect(try source.issue(now: minute + .minutes(5), epochSeconds: 8000).issuedAt == 8000)
    }

    @Test func `a token that APNs calls expired is not taken again`() throws {
        let bench = try Bench()
        let source = try bench.source()
        guard case .token(let token) = source.authorization(now: SharedTokenFileTests.start, epochSeconds: 5000) else {
            Issue.record("no token")
            return
        }
        source.refused(.expiredProviderToken, token, now: SharedTokenFileTests.start)
        let later = SharedTokenFileTests.start + .minutes(20)
        #expect(try source.issue(now: later, epochSeconds: 5000 + 20 * 60).issuedAt == 5000 + 20 * 60)
    }

    @Test func `a process that holds the lock for ever stops no other`() throws {
        let bench = try Bench()
        let source = try bench.source()
        let lock = open(bench.file.path() + ".lock", O_RDWR)
        defer { close(lock) }
        #expect(flock(lock, LOCK_EX) == 0)
        #expect(try source.issue(now: SharedTokenFileTests.start, epochSeconds: 5000).issuedAt == 5000)
    }

    @Test func `a folder that is not there is an error that names the file`() throws {
        let key = try ES256Key.generate()
        #expect {
            try ProviderTokenSource(
                sharingIn: "/nowhere/token.pem",
                key: key,
                keyID: "ABCDE12345",
                teamID: "FGHIJ67890"
            )
        } throws: {
            let error = $0 as? ConfigurationError
            return error?.code == .tokenFileUnusable
                && error?.description.contains("cannot be used for provider tokens: No such file or directory") == true
        }
    }
}

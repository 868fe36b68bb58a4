import Foundation
import Testing

@testable import FerryAppStore

@Suite struct RecoveryStartTests {
    private static let now = Date(timeIntervalSince1970: 1_790_000_000)
    private let start = RecoveryStart(bundleID: "com.example.app", environment: .production, onlyFailures: true)

    private func code(_ body: () throws(AppStoreRecoveryError) -> Void) -> AppStoreRecoveryError.Code? {
        do throws(AppStoreRecoveryError) {
            try body()
            return nil
        } catch {
            return error.code
        }
    }

    @Test func `a window ends now at the latest, and begins no earlier than Apple's reach`() throws {
        let early = Self.now - 200 * 86_400
        let checkpoint = try self.start.checkpoint(from: early, to: Self.now + 60, after: nil, now: Self.now)
        #expect(checkpoint.report.window == Self.now - 180 * 86_400 + 300..<Self.now)
        #expect(checkpoint.report.outOfReach == early..<checkpoint.report.window.lowerBound)
        let near = try self.start.checkpoint(from: Self.now - 60, to: nil, after: nil, now: Self.now)
        #expect(near.report.outOfReach == nil)
    }

    @Test func `a window without length, out of reach or without a start is refused`() {
        #expect(
            self.code { () throws(AppStoreRecoveryError) in
                _ = try self.start.checkpoint(from: Self.now, to: nil, after: nil, now: Self.now)
            } == .emptyWindow
        )
        #expect(
            self.code { () throws(AppStoreRecoveryError) in
                _ = try self.start.checkpoint(
                    from: Self.now - 300 * 86_400,
                    to: Self.now - 200 * 86_400,
                    after: nil,
                    now: Self.now
                )
            } == .emptyWindow
        )
        #expect(
            self.code { () throws(AppStoreRecoveryError) in
                _ = try self.start.checkpoint(from: nil, to: nil, after: nil, now: Self.now)
            } == .noStart
        )
    }

    @Test func `an incomplete checkpoint goes on, and no other start replaces it`() throws {
        var old = try self.start.checkpoint(from: Self.now - 60, to: nil, after: nil, now: Self.now)
        old.paginationToken = "a"
        let later = Self.now + 3600
        #expect(try self.start.checkpoint(from: nil, to: nil, after: old, now: later) == old)
        #expect(try self.start.checkpoint(from: Self.now - 60, to: later, after: old, now: later) == old)
        #expect(
            self.code { () throws(AppStoreRecoveryError) in
                _ = try self.start.checkpoint(from: Self.now - 61, to: nil, after: old, now: later)
            } == .otherCheckpoint
        )
    }

    @Test func `after a complete checkpoint the next window follows, with a small overlap`() throws {
        var old = try self.start.checkpoint(from: Self.now - 60, to: nil, after: nil, now: Self.now)
        old.isComplete = true
        let later = Self.now + 3600
        let next = try self.start.checkpoint(from: nil, to: nil, after: old, now: later)
        #expect(next.report.window == Self.now - 600..<later)
        #expect(!next.isComplete)
        let other = try self.start.checkpoint(from: later - 5, to: nil, after: old, now: later)
        #expect(other.report.window == later - 5..<later)
    }

    @Test func `a checkpoint of another app, environment or choice is refused`() throws {
        let old = try self.start.checkpoint(from: Self.now - 60, to: nil, after: nil, now: Self.now)
        for other in [
            RecoveryStart(bundleID: "com.example.other", environment: .production, onlyFailures: true),
            RecoveryStart(bundleID: "com.example.app", environment: .sandbox, onlyFailures: true),
            RecoveryStart(bundleID: "com.example.app", environment: .production, onlyFailures: false),
        ] {
            #expect(
                self.code { () throws(AppStoreRecoveryError) in
                    _ = try other.checkpoint(from: nil, to: nil, after: old, now: Self.now)
                } == .otherCheckpoint
            )
        }
    }
}

import Foundation
import Testing

@testable import FerryGateway

/// The gateway with real sockets, TLS, SQLite and HTTP/2, among clients of every manner and before an APNs that fails in
/// every way. ``ChaosAccount`` has the rules.
///
/// `FERRY_CHAOS` sets the seconds: 3600 for an hour. `FERRY_SEED` repeats the random choices, though not the times of a
/// run. With it, and in less than a minute, a failure prints what happened to the faulty pushes. Memory grows with that.
@Suite(.timeLimit(.minutes(180))) struct GatewayChaosTests {
    private static let environment = ProcessInfo.processInfo.environment

    @Test func `whatever clients and APNs do, every push is somewhere, and where it should be`() async throws {
        let seconds = Self.environment["FERRY_CHAOS"].flatMap(Int.init) ?? 3
        let seed = Self.environment["FERRY_SEED"].flatMap(UInt64.init)
        try await Self.run(
            .seconds(seconds),
            seed: seed ?? .random(in: 0...UInt64.max),
            keepsWords: seed != nil || seconds < 60
        )
    }

    private static func run(_ duration: Duration, seed: UInt64, keepsWords: Bool) async throws {
        try await ChaosRun.run(duration, seed: seed, keepsWords: keepsWords) { run, report in
            let account = run.site.account
            #expect(try await run.becomesIdle(), "seed \(seed)")
            #expect(try await run.hasReadEveryRow(), "seed \(seed)")
            print("\(try await report.sum()); seed \(seed)")

            let (tally, counts) = (account.tally, try await run.gateway.counts)
            print(tally)
            let faulty = account.faulty.joined(separator: "\n")
            #expect(tally.faults == 0, "seed \(seed): \(tally)\n\(faulty)")
            #expect(tally.unswallowed <= max(tally.pushes / 1000, 3), "seed \(seed): \(tally)\n\(faulty)")
            #expect(tally.unrepeated == 0, "seed \(seed): \(tally)\n\(faulty)")
            #expect(tally.owing == 0, "seed \(seed): \(tally)\n\(faulty)")
            #expect(account.strange == 0, "seed \(seed): \(account.strange) strange tokens")
            #expect(counts.isConserved, "seed \(seed): \(counts)")
            #expect(counts.unanswered == 0, "seed \(seed): \(counts)")
            // What the gateway counts is what came back from APNs.
            let attempts = account.attempts
            #expect(counts.accepted == attempts.accepted, "seed \(seed): \(counts), \(attempts)")
            // The second time that a push may have arrived, it is a dead letter.
            #expect(counts.deadLetters == tally.endedInDoubt, "seed \(seed): \(counts), \(tally)")
            #expect(counts.deadLetters + counts.copies == attempts.inDoubt, "seed \(seed): \(counts), \(attempts)")
            #expect(counts.unknown == 0, "seed \(seed): \(counts)")

            #expect(await run.gateway.shutDown(within: .seconds(300)), "seed \(seed)")
            let (second, rows) = try await run.startAgain()
            #expect(second.recovered == 0 && rows == 0, "seed \(seed): \(second), \(rows) rows")
        }
    }
}

import Foundation
import Synchronization

@testable import FerryGateway

/// The lines of a chaos run: one each minute, and one at the end.
final class ChaosReport: Sendable {
    private struct Memory {
        /// In MiB, five minutes after the start, and the most after that; nil: not measured.
        var settled: Double?
        var most: Double?
    }

    private let run: ChaosRun
    private let start = ContinuousClock.now
    private let memory = Mutex(Memory())

    init(_ run: ChaosRun) { self.run = run }

    func eachMinute(until end: ContinuousClock.Instant) async throws {
        var next = self.start + .seconds(60)
        while next <= end {
            try await Task.sleep(until: next, clock: .continuous)
            print(try await self.line())
            // A file would get the lines when the hour is over.
            fflush(nil)
            next += .seconds(60)
        }
    }

    private func line() async throws -> String {
        let (tally, connections) = (self.run.site.account.tally, self.run.site.account.connections)
        let counts = try await self.run.gateway.counts
        let resident = Self.residentMemory
        let elapsed = ContinuousClock.now - self.start
        if let resident { self.note(resident, after: elapsed) }
        let fields = [
            "chaos \(elapsed.components.seconds) s", "\(tally.pushes) pushes", "\(tally.arrived) at APNs",
            "\(tally.rejected) rejected", "\(counts.told) told", "\(counts.swallowed) copies swallowed",
            "\(counts.copies) sent again in doubt",
            "\(tally.allowedDoubles) may have arrived twice", "\(tally.allowedLosses) may be missing",
            "\(tally.faults) faults", "\(connections.made) connections (\(connections.broken) broken)",
            "\(counts.unanswered) without an answer", "\(self.run.apns.kills) kills",
            resident.map { "\(Self.text($0)) MiB" } ?? "memory unknown",
            "store \(Self.text(Double(self.run.storeLength) / 1_048_576)) MiB",
        ]
        return fields.joined(separator: ", ")
    }

    private func note(_ resident: Double, after elapsed: Duration) {
        guard elapsed >= .seconds(300) else { return }
        self.memory.withLock { memory in
            if memory.settled == nil { memory.settled = resident }
            memory.most = max(memory.most ?? 0, resident)
        }
    }

    /// The last line, with the memory after five minutes and the most later.
    func sum() async throws -> String {
        let line = try await self.line()
        let memory = self.memory.withLock { $0 }
        guard let settled = memory.settled, let most = memory.most else { return "in sum: \(line)" }
        let growth = "\(Self.text(settled)) MiB after five minutes, \(Self.text(most)) MiB at most later"
        return "in sum: \(line); memory \(growth)"
    }

    private static func text(_ number: Double) -> String { String(format: "%.1f", number) }

    /// The memory of the process in MiB; nil where the system does not tell.
    private static var residentMemory: Double? {
        guard let text = try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8),
            let pages = text.split(separator: " ").dropFirst().first.flatMap({ Double($0) })
        else { return nil }
        return pages * Double(sysconf(Int32(_SC_PAGESIZE))) / 1_048_576
    }
}

import FerryBinary
import FerryCore
import Testing

@testable import FerryGateway

@Suite struct TurnsTests {
    private static func take(_ count: Int, of turns: inout Turns) -> [UInt64] {
        var jobs: [UInt64] = []
        while jobs.count < count, !turns.isEmpty { turns.takeTurn { jobs.append($0.rawValue) } }
        return jobs
    }

    @Test func `a connection keeps its order`() {
        var turns = Turns(identities: 1)
        for job: UInt64 in 0..<1000 { turns.append(JobID(rawValue: job), of: 0, on: ConnectionID(1)) }
        #expect(Self.take(.max, of: &turns) == Array(0..<1000))
        #expect(turns.isEmpty)
    }

    @Test func `a client waits for one turn of each other, however many connections they have`() {
        var turns = Turns(identities: 3)
        for job: UInt64 in 0..<100_000 {
            turns.append(JobID(rawValue: job), of: 0, on: ConnectionID(job % 20))
            turns.append(JobID(rawValue: 100_000 + job), of: 1, on: ConnectionID(100))
        }
        turns.append(JobID(rawValue: 1_000_000), of: 2, on: ConnectionID(200))
        #expect(Self.take(2 * Turns.length + 1, of: &turns).last == 1_000_000)
        #expect(Self.take(.max, of: &turns).count == 200_000 - 2 * Turns.length)
    }

    @Test func `a connection waits for one turn of each other of its client`() {
        var turns = Turns(identities: 1)
        for job: UInt64 in 0..<10_000 { turns.append(JobID(rawValue: job), of: 0, on: ConnectionID(1)) }
        turns.append(JobID(rawValue: 1_000_000), of: 0, on: ConnectionID(2))
        #expect(Self.take(Turns.length + 1, of: &turns).last == 1_000_000)
    }
}

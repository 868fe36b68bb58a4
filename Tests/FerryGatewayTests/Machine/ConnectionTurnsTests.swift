import FerryBinary
import FerryCore
import Testing

@testable import FerryGateway

@Suite struct ConnectionTurnsTests {
    private static func take(_ count: Int, of turns: inout ConnectionTurns, atMost limit: Int = .max) -> [UInt64] {
        var jobs: [UInt64] = []
        while jobs.count < count, !turns.isEmpty { turns.takeTurn(atMost: limit) { jobs.append($0.rawValue) } }
        return jobs
    }

    @Test(arguments: [1, 7, .max]) func `a connection keeps its order`(limit: Int) {
        var turns = ConnectionTurns()
        for job: UInt64 in 0..<1000 { turns.append(JobID(rawValue: job), on: ConnectionID(1)) }
        #expect(Self.take(.max, of: &turns, atMost: limit) == Array(0..<1000))
        #expect(turns.isEmpty)
    }

    @Test func `a connection waits for one turn of each other of its client`() {
        var turns = ConnectionTurns()
        for job: UInt64 in 0..<10_000 { turns.append(JobID(rawValue: job), on: ConnectionID(1)) }
        turns.append(JobID(rawValue: 1_000_000), on: ConnectionID(2))
        #expect(Self.take(ConnectionTurns.length + 1, of: &turns).last == 1_000_000)
    }

    @Test func `a turn is as long as its limit`() {
        var turns = ConnectionTurns()
        for job: UInt64 in 0..<10 { turns.append(JobID(rawValue: job), on: ConnectionID(1)) }
        turns.append(JobID(rawValue: 100), on: ConnectionID(2))
        #expect(Self.take(2, of: &turns, atMost: 1) == [0, 100])
    }
}

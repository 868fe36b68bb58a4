import FerryBinary
import FerryCore
import NIOCore
import Testing

@testable import FerryGateway

@Suite struct JobTableTests {
    private static func job(_ number: Int) -> Job {
        let bytes = [UInt8](repeating: UInt8(truncatingIfNeeded: number), count: 2)
        return bytes.withUnsafeBufferPointer { bytes in
            Job(
                scope: ReplayScope(identity: 0, address: []),
                token: bytes,
                payload: bytes,
                expiration: 0,
                priority: 0,
                first: .init(connection: ConnectionID(1), sequence: UInt64(number)),
                readAt: .uptimeNanoseconds(0),
                readAtSeconds: 0
            )
        }
    }

    @Test func `jobs are found by their number, whatever ends around them`() {
        var table = JobTable()
        // Far more than the places that are kept: the first jobs live on among the last.
        let count = 400_000
        var kept: [JobID] = []
        for number in 0..<count {
            let id = table.reserve()
            #expect(id.rawValue == UInt64(number + 1))
            if number % 3 == 0 { continue }
            table.insert(Self.job(number), as: id)
            if number % 1000 == 1 { kept.append(id) } else { table.remove(id) }
        }
        #expect(table.count == kept.count)
        #expect(table.ids == kept)
        for id in kept { #expect(table[id]?.first.sequence == id.rawValue - 1) }
        table.change(kept[0]) { $0.attempts = 7 }
        #expect(table[kept[0]]?.attempts == 7)
        for id in kept + kept { table.remove(id) }
        #expect(table.count == 0)
        #expect(table[kept[0]] == nil)
    }
}

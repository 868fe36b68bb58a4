import FerryBinary
import FerryCore
import NIOCore
import Testing

@testable import FerryGateway

@Suite struct JobTableTests {
    private static func job(_ number: Int, readAt: UInt64 = 0) -> Job {
        let bytes = [UInt8](repeating: UInt8(truncatingIfNeeded: number), count: 2)
        return bytes.withUnsafeBufferPointer { bytes in
            Job(
                scope: ReplayScope(identity: 0, address: []),
                token: bytes,
                payload: bytes,
                expiration: 0,
                priority: 0,
                first: .init(connection: ConnectionID(1), sequence: UInt64(number)),
                readAt: .uptimeNanoseconds(readAt),
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

    // MARK: The oldest job

    @Test func `a letter that is sent again is not older than a notification that was read before`() {
        var table = JobTable(first: 100)
        let waiting = table.reserve()
        table.insert(Self.job(1, readAt: 50), as: waiting)
        table.insert(Self.job(2, readAt: 70), as: JobID(rawValue: 7))
        #expect(table.oldest()?.first.sequence == 1)
        // So many numbers follow that the notification leaves the ring.
        for _ in 0..<200_000 { _ = table.reserve() }
        #expect(table.oldest()?.first.sequence == 1)
        table.remove(waiting)
        #expect(table.oldest()?.first.sequence == 2)
        table.remove(JobID(rawValue: 7))
        #expect(table.oldest() == nil)
    }

    @Test func `a letter that is sent again twice counts from the second time`() {
        var table = JobTable(first: 100)
        table.insert(Self.job(1, readAt: 10), as: JobID(rawValue: 7))
        table.remove(JobID(rawValue: 7))
        table.insert(Self.job(2, readAt: 20), as: JobID(rawValue: 8))
        table.insert(Self.job(3, readAt: 30), as: JobID(rawValue: 7))
        #expect(table.oldest()?.first.sequence == 2)
    }

    @Test func `a letter that is sent again soon hides no notification behind it`() {
        var table = JobTable()
        let ids = (0..<3).map { number in
            let id = table.reserve()
            table.insert(Self.job(number, readAt: UInt64(number)), as: id)
            return id
        }
        table.remove(ids[1])
        table.insert(Self.job(9, readAt: 9), as: ids[1])
        table.remove(ids[0])
        #expect(table.oldest()?.first.sequence == 2)
        table.remove(ids[2])
        #expect(table.oldest()?.first.sequence == 9)
    }
}

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

    // MARK: Pages

    /// The numbers of all jobs, read in pages of so many places.
    private static func numbers(
        _ table: inout JobTable,
        places: Int,
        between: (inout JobTable) -> Void = { _ in }
    ) -> [UInt64] {
        var (place, numbers, pages): (WaitingPlace, [UInt64], Int) = (WaitingPlace(), [], 0)
        while true {
            var looked = 0
            let isEnd = table.look(from: &place, atMost: places) { id, job in
                #expect(job.first.sequence == id.rawValue)
                looked += 1
                numbers.append(id.rawValue)
                return true
            }
            #expect(looked <= places)
            guard !isEnd else { return numbers }
            pages += 1
            guard pages < 1_000_000 else {
                Issue.record("the pages have no end")
                return numbers
            }
            between(&table)
        }
    }

    private static func insert(
        _ count: Int,
        into table: inout JobTable,
        unless isGap: (UInt64) -> Bool = { _ in false }
    ) {
        for _ in 0..<count {
            let id = table.reserve()
            if !isGap(id.rawValue) { table.insert(Self.job(Int(id.rawValue)), as: id) }
        }
    }

    @Test func `pages have each job once, those of the table first`() {
        var table = JobTable(first: 1000)
        // Jobs of an earlier process are in the table.
        for number in 1...300 as ClosedRange<UInt64> {
            table.insert(Self.job(Int(number)), as: JobID(rawValue: number))
        }
        Self.insert(500, into: &table) { $0.isMultiple(of: 3) }
        table.remove(JobID(rawValue: 7))
        let old: [UInt64] = (1...300).filter { $0 != 7 }
        let recent: [UInt64] = (1000..<1500).filter { !$0.isMultiple(of: 3) }
        for places in [1, 7, 100, 10_000] {
            let numbers = Self.numbers(&table, places: places)
            #expect(numbers == old + recent)
        }
    }

    @Test func `a job that becomes old between two pages is passed once`() {
        var table = JobTable()
        Self.insert(100_000, into: &table)
        var isGrown = false
        let numbers = Self.numbers(&table, places: 60_000) { table in
            guard !isGrown else { return }
            isGrown = true
            // The ring has room for 131,072 numbers, so the first jobs move to the table.
            Self.insert(100_000, into: &table)
        }
        #expect(numbers.count == 200_000 && Set(numbers).count == 200_000)
    }

    @Test func `a job that came again is passed once`() {
        var table = JobTable(first: 1000)
        for _ in 0..<3 {
            table.remove(JobID(rawValue: 5))
            table.insert(Self.job(5), as: JobID(rawValue: 5))
        }
        let (numbers, oldest) = (Self.numbers(&table, places: 10), table.oldest())
        #expect(numbers == [5])
        #expect(oldest?.first.sequence == 5)
    }

    @Test func `a reader that has enough goes on behind its last job`() {
        var table = JobTable()
        Self.insert(10, into: &table)
        var (place, numbers): (WaitingPlace, [UInt64]) = (WaitingPlace(), [])
        for _ in 0..<5 {
            _ = table.look(from: &place, atMost: 1000) { id, _ in
                numbers.append(id.rawValue)
                return !numbers.count.isMultiple(of: 3)
            }
        }
        #expect(numbers == Array(1...10))
    }

    @Test func `a place is text`() throws {
        var place = WaitingPlace()
        (place.arrival, place.job) = (7, 1 << 40)
        #expect(WaitingPlace(place.description) == place)
        let inShard = WaitingPlace(place, shard: 2)
        #expect(WaitingPlace(inShard.description) == inShard && inShard != place)
        for text in ["", "-", "1", "1-", "a-1", "1-2-", "1-2-65537", "1-2-3-4", "1-18446744073709551615"] {
            #expect(WaitingPlace(text) == nil, "\(text)")
        }
    }
}

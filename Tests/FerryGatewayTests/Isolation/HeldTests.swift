import FerryBinary
import Testing

@testable import FerryGateway

@Suite struct HeldTests {
    @Test func `tries come from several places, and each notification is tried once`() {
        var held = Held()
        for job: UInt64 in 0..<1000 { held.append(JobID(rawValue: job), of: 0) }
        let first = (0..<4).compactMap { _ in held.takeOne()?.rawValue }
        #expect(first == [0, 500, 250, 750])
        var rest: Set<UInt64> = []
        while let job = held.takeOne() { rest.insert(job.rawValue) }
        #expect(rest.count == 996 && rest.isDisjoint(with: first))
        #expect(held.isEmpty)
    }

    @Test func `flows take turns, and what is taken back keeps its order`() {
        var held = Held()
        for job: UInt64 in 0..<100 { held.append(JobID(rawValue: job), of: 1) }
        held.append(JobID(rawValue: 1000), of: 2)
        _ = held.takeOne()
        #expect(held.takeOne()?.rawValue == 1000)
        #expect(held.takeAll().map(\.rawValue) == Array(1..<100))
        #expect(held.isEmpty)
    }

    @Test func `every place is one of what waits`() {
        for count in [1, 2, 3, 63, 64, 65, 1000] {
            #expect((0..<200).allSatisfy { (0..<count).contains(Held.place(of: $0, among: count)) })
        }
    }
}

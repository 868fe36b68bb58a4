import FerryMachine
import Testing

struct LoopPartTests {
    @Test(arguments: [1, 2, 3, 7], [0, 1, 5, 1000])
    func `the parts of a bound add up to it, and are equal but for 1`(count: Int, bound: Int) {
        let parts = (0..<count).map { LoopPart($0, of: count).of(bound) }
        #expect(parts.reduce(0, +) == bound)
        #expect((parts.max() ?? 0) - (parts.min() ?? 0) <= 1)
    }
}

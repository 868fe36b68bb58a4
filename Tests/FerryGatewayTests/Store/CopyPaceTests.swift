import Testing

@testable import FerryGateway

@Suite struct CopyPaceTests {
    /// Copies a store to which commits add `growth` pages between two steps. Returns the lengths of the steps.
    private static func steps(_ pace: inout CopyPace, from pages: Int, growth: (_ step: Int) -> Int) -> [Int] {
        var (remaining, steps): (Int, [Int]) = (pages, [])
        while steps.count < 10_000 {
            steps.append(pace.pages)
            remaining -= pace.pages
            guard remaining > 0 else { break }
            // SQLite says what is left before the commits that come next.
            pace.stepped(remaining: remaining)
            remaining += growth(steps.count)
        }
        return steps
    }

    @Test func `steps stay short while commits add less than a step copies`() {
        var pace = CopyPace()
        let steps = Self.steps(&pace, from: 12_800) { _ in 100 }
        #expect(steps.allSatisfy { $0 == CopyPace.least } && steps.count > 100 && steps.count < 1000)
    }

    @Test func `steps grow with the commits, are short again after them, and have a bound`() {
        var pace = CopyPace()
        let steps = Self.steps(&pace, from: 100_000) { $0 < 20 ? 10_000 : 0 }
        #expect(steps.max() == CopyPace.most)
        #expect(steps.last == CopyPace.least && steps.count < 10_000)
    }

    @Test(arguments: [129, 1000, 4000])
    func `a copy ends although commits add pages without an end, if the longest step copies more`(_ growth: Int) {
        var pace = CopyPace()
        let steps = Self.steps(&pace, from: 50_000) { _ in growth }
        #expect(steps.count < 10_000)
    }
}

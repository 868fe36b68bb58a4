import FerryCore
import Testing

@testable import FerryAdmin

@Suite(.timeLimit(.minutes(5))) struct SharedValueTests {
    @Test func `many readers share one value until its lifetime is over`() async {
        let made = Counter()
        let value = SharedValue<Int>(lifetime: .seconds(300)) { made.next() }
        await withTaskGroup(of: Int?.self) { group in
            for _ in 0..<100 { group.addTask { await value.value(within: .seconds(300)) } }
            for await found in group { #expect(found == 1) }
        }
    }

    @Test func `a value that is old is made anew`() async {
        let made = Counter()
        let value = SharedValue<Int>(lifetime: .zero) { made.next() }
        #expect(await value.value(within: .seconds(300)) == 1)
        #expect(await value.value(within: .seconds(300)) == 2)
    }

    @Test func `a reader of a value that hangs gives up, and a later one gets it`() async {
        let (gate, open) = AsyncStream.makeStream(of: Void.self)
        let value = SharedValue<Int>(lifetime: .seconds(300)) {
            for await _ in gate { break }
            return 7
        }
        #expect(await value.value(within: .milliseconds(10)) == nil)
        #expect(await value.value(within: .milliseconds(10)) == nil)
        open.yield()
        #expect(await value.value(within: .seconds(300)) == 7)
    }

    @Test func `readers that gave up leave nothing behind while the value hangs`() async {
        let (gate, open) = AsyncStream.makeStream(of: Void.self)
        let value = SharedValue<Int>(lifetime: .seconds(300)) {
            for await _ in gate { break }
            return 7
        }
        await withTaskGroup(of: Int?.self) { group in
            for _ in 0..<100 { group.addTask { await value.value(within: .milliseconds(10)) } }
            for await found in group { #expect(found == nil) }
        }
        #expect(await value.readers.isEmpty)
        async let late = value.value(within: .seconds(300))
        while await value.readers.isEmpty { await Task.yield() }
        open.yield()
        #expect(await late == 7)
        #expect(await value.readers.isEmpty)
    }

    @Test func `the answers of a snapshot are made once`() {
        let answers = SharedAnswers()
        let made = Counter()
        for _ in 0..<3 {
            let answer = answers.answer("/") { AdminAnswer(status: 200, "\(made.next())") }
            #expect(answer.body == Array("1\n".utf8))
        }
    }

    private final class Counter: Sendable {
        private let count = Locked(0)

        func next() -> Int {
            self.count.withLock { count in
                count += 1
                return count
            }
        }
    }
}

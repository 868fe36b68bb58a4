import Testing

@testable import FerryAppStore

@Suite struct IdleConnectionsTests {
    private let idle = IdleConnections()
    private let closed = Collected<Int>()

    private func begin(_ number: Int) -> IdleConnections.Wait {
        let closed = self.closed
        return self.idle.begin { closed.append(number) }
    }

    @Test("The connection that has waited longest is closed, once")
    func longest() {
        let waits = (1...3).map(self.begin)
        self.idle.end(waits[0])
        self.idle.closeLongest()
        self.idle.closeLongest()
        #expect(self.closed.all == [2, 3])
    }

    @Test("A place that is wanted while no connection waits is that of the next one, and only of that")
    func owed() {
        self.idle.closeLongest()
        #expect(self.closed.all == [])
        _ = self.begin(1)
        #expect(self.closed.all == [1])
        _ = self.begin(2)
        #expect(self.closed.all == [1])
    }

    @Test("A million waits of one connection keep the order of those that wait on")
    func compaction() {
        _ = self.begin(1)
        for number in 0..<1_000_000 { self.idle.end(self.begin(number)) }
        _ = self.begin(2)
        self.idle.closeLongest()
        self.idle.closeLongest()
        #expect(self.closed.all == [1, 2])
    }
}

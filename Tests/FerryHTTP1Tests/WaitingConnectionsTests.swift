import FerryHTTP1TestSupport
import Testing

@testable import FerryHTTP1

@Suite struct WaitingConnectionsTests {
    private let waiting = WaitingConnections()
    private let closed = Collected<Int>()

    private func begin(_ number: Int, _ kind: WaitingConnections.Kind = .next) -> WaitingConnections.Wait {
        let closed = self.closed
        return self.waiting.begin(kind) { closed.append(number) }
    }

    @Test func `the connection that has waited longest is closed, once`() {
        let waits = (1...3).map { self.begin($0) }
        self.waiting.end(waits[0])
        self.waiting.closeLongest()
        self.waiting.closeLongest()
        #expect(self.closed.all == [2, 3])
    }

    @Test func `a connection between two requests gives its place before one with work, however long that has waited`()
    {
        _ = self.begin(1, .other)
        _ = self.begin(2, .taking)
        _ = self.begin(3)
        for _ in 0..<4 { self.waiting.closeLongest() }
        #expect(self.closed.all == [3, 1, 2])
    }

    @Test func `a place that is wanted while no connection waits is taken from the next one that was answered`() {
        self.waiting.closeLongest()
        #expect(self.closed.all == [])
        _ = self.begin(1)
        #expect(self.closed.all == [1])
        _ = self.begin(2)
        #expect(self.closed.all == [1])
    }

    @Test(arguments: [WaitingConnections.Kind.other, .taking])
    func `a connection that was just accepted, or whose client takes its answer, keeps its place`(
        kind: WaitingConnections.Kind
    ) {
        for _ in 1...2 { self.waiting.connected() }
        self.waiting.closeLongest()
        _ = self.begin(1, kind)
        #expect(self.closed.all == [])
        _ = self.begin(2)
        #expect(self.closed.all == [2])
    }

    @Test func `a place that another connection has given is not taken again`() {
        self.waiting.closeLongest()
        self.waiting.placeIsTaken()
        _ = self.begin(1)
        #expect(self.closed.all == [])
        self.waiting.closeLongest()
        #expect(self.closed.all == [1])
    }

    @Test func `when no connection gets an answer any more, the one that has waited longest gives the wanted place`() {
        for _ in 1...3 { self.waiting.connected() }
        self.waiting.closeLongest()
        _ = self.begin(1, .taking)
        self.waiting.end(self.begin(2, .taking))
        _ = self.begin(3, .other)
        #expect(self.closed.all == [])
        self.waiting.disconnected()
        _ = self.begin(3, .taking)
        #expect(self.closed.all == [1])
        _ = self.begin(4, .taking)
        #expect(self.closed.all == [1])
    }

    @Test func `while too many bytes are held, the connections that wait longest give their places`() {
        // It holds no bytes.
        _ = self.begin(0)
        for number in 1...3 { _ = self.begin(number, .other) }
        self.waiting.hold(WaitingConnections.heldLimit)
        #expect(self.closed.all == [])
        self.waiting.hold(1)
        #expect(self.closed.all == [1])
        self.waiting.hold(-1)
        #expect(self.closed.all == [1])
    }

    @Test func `a million waits of one connection do not change the order of the others`() {
        _ = self.begin(1)
        for number in 0..<1_000_000 { self.waiting.end(self.begin(number, number.isMultiple(of: 2) ? .next : .other)) }
        _ = self.begin(2)
        self.waiting.closeLongest()
        self.waiting.closeLongest()
        #expect(self.closed.all == [1, 2])
    }
}

import FerryCore
import Testing

@testable import FerryHTTP2

@Suite struct KeyMoveTests {
    private var move = KeyMove()

    @Test func `work may be moved from any connection at first`() {
        #expect(self.move.mayMove(from: ConnectionID(7)))
    }

    @Test mutating func `work is not moved again from a connection that was made after the first move`() {
        self.move.begin(last: 3)
        self.move.begin(last: 5)
        #expect(self.move.mayMove(from: ConnectionID(3)))
        #expect(!self.move.mayMove(from: ConnectionID(4)))
    }

    @Test mutating func `another answer on a later connection ends the move`() {
        self.move.begin(last: 3)
        self.move.answered(on: ConnectionID(3))
        #expect(!self.move.mayMove(from: ConnectionID(4)))
        self.move.answered(on: ConnectionID(4))
        #expect(self.move.mayMove(from: ConnectionID(4)))
    }
}

import Testing

@testable import FerryHTTP2

@Suite struct StandingTests {
    private var standing = Standing.untried

    @Test mutating func `a connection without an answer counts as failed once`() {
        let counts = [self.standing.countsAsFailure(), self.standing.countsAsFailure()]
        #expect(counts == [true, false])
    }

    @Test mutating func `a connection with an answer never counts as failed`() {
        self.standing.answered()
        let counts = self.standing.countsAsFailure()
        #expect(!counts)
    }
}

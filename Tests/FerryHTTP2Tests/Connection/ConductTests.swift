import NIOCore
import Testing

@testable import FerryHTTP2

@Suite struct ConductTests {
    private let now = NIODeadline.uptimeNanoseconds(1_000_000_000)
    private var conduct = Conduct()

    @Test mutating func `the fifth server error in a row makes a connection useless`() {
        for _ in 1...4 { self.conduct.failed() }
        self.conduct.served()
        for _ in 1...4 { self.conduct.failed() }
        let before = self.conduct.isUseless
        self.conduct.failed()
        #expect(!before && self.conduct.isUseless)
        self.conduct.served()
        #expect(self.conduct.isUseless && !self.conduct.mayWrite)
    }

    @Test mutating func `after five refusals an answer to what is under way clears the connection`() {
        for _ in 1...5 { self.conduct.refused(now: self.now) }
        #expect(!self.conduct.mayWrite && !self.conduct.isUseless)
        self.conduct.tick(now: self.now, underWay: 3)
        self.conduct.served()
        #expect(self.conduct.mayWrite && !self.conduct.hasFailed)
    }

    @Test(arguments: [(1, 3), (0, 0)] as [(Int64, Int)])
    mutating func `after five refusals the connection is useless when nothing can clear it`(
        seconds: Int64,
        underWay: Int
    ) {
        for _ in 1...5 { self.conduct.refused(now: self.now) }
        self.conduct.tick(now: self.now, underWay: 3)
        #expect(!self.conduct.isUseless)
        self.conduct.tick(now: self.now + .seconds(seconds), underWay: underWay)
        #expect(self.conduct.isUseless)
    }
}

import FerryCore
import FerryMachine
import NIOCore
import Testing

@testable import FerryHTTP2

@Suite struct DiallingTests {
    private let start = NIODeadline.uptimeNanoseconds(1_000_000_000_000)
    private var generator = SplitMix64(seed: 1)

    private func dialling(_ configure: (inout HTTP2Options) -> Void = { _ in }) -> Dialling {
        var options = HTTP2Options()
        configure(&options)
        return Dialling(options, register: DialRegister())
    }

    @Test func `one connection is made at a time`() {
        var dialling = self.dialling()
        let begun = [dialling.begin(now: self.start), dialling.begin(now: self.start)]
        #expect(begun == [ConnectionID(1), nil])
        let ended = [dialling.end(ConnectionID(2)), dialling.end(ConnectionID(1))]
        #expect(ended == [nil, self.start])
        #expect(dialling.current == nil)
        let next = dialling.begin(now: self.start)
        #expect(next == ConnectionID(2))
    }

    @Test func `never are more than ten made in a second`() {
        var dialling = self.dialling()
        for number in 1...10 {
            let ids = [dialling.begin(now: self.start), dialling.cancel()]
            #expect(ids == [ConnectionID(UInt64(number)), ConnectionID(UInt64(number))])
        }
        let early = dialling.begin(now: self.start)
        #expect(early == nil)
        #expect(dialling.deadline == self.start + .seconds(1))
        let late = dialling.begin(now: self.start + .seconds(1))
        #expect(late == ConnectionID(11))
    }

    @Test func `the first useless connection has its successor at once, and the next ones one a second`() {
        var (dialling, now) = (self.dialling(), self.start)
        var times: [NIODeadline] = []
        while now < self.start + .seconds(3) {
            dialling.tick(now: now)
            if let id = dialling.begin(now: now) {
                times.append(now)
                _ = dialling.end(id)
                dialling.leftUseless(now: now)
            }
            now = now + .milliseconds(100)
        }
        #expect(times.map { ($0 - self.start).nanoseconds / 1_000_000 } == [0, 100, 1000, 2000])
    }

    @Test func `many useless connections at once delay the next one by a second at most`() {
        var dialling = self.dialling()
        let begun = [dialling.begin(now: self.start), dialling.cancel()]
        #expect(begun == [ConnectionID(1), ConnectionID(1)])
        for _ in 0..<100 { dialling.leftUseless(now: self.start) }
        #expect(dialling.deadline == nil)
        let next = [dialling.begin(now: self.start), dialling.cancel()]
        #expect(next == [ConnectionID(2), ConnectionID(2)])
        for _ in 0..<100 { dialling.leftUseless(now: self.start) }
        #expect(dialling.deadline == self.start + .seconds(1))
    }

    @Test mutating func `a wait that is asked for while a connection is made holds for the one after it`() throws {
        var dialling = self.dialling()
        let begun = dialling.begin(now: self.start)
        let id = try #require(begun)
        dialling.calm(now: self.start, using: &self.generator)
        #expect(dialling.deadline == nil)
        let start = dialling.end(id)
        #expect(start == self.start)
        let until = try #require(dialling.deadline)
        let next = [dialling.begin(now: self.start), dialling.begin(now: until)]
        #expect(next == [nil, ConnectionID(2)])
    }

    @Test mutating func `a wait that passes while a connection is made is forgotten`() throws {
        var dialling = self.dialling()
        let begun = dialling.begin(now: self.start)
        let id = try #require(begun)
        dialling.calm(now: self.start, using: &self.generator)
        dialling.tick(now: self.start + .seconds(1))
        let start = dialling.end(id)
        #expect(start == self.start)
        #expect(dialling.deadline == nil)
    }

    @Test mutating func `failures in a row lead to giving up, and an answer ends them`() {
        var dialling = self.dialling { $0.connectionRetryLimit = 2 }
        func fail(_ seconds: Int64...) -> [Dialling.FailureAction] {
            seconds.map {
                let now = self.start + .seconds($0)
                return dialling.failed(since: now, now: now, using: &self.generator)
            }
        }
        let before = fail(0, 1)
        #expect(before == [.dialAgain, .dialAgain])
        dialling.answered(since: self.start, now: self.start + .seconds(2))
        let after = fail(3, 4, 5, 6)
        let limit = Dialling.FailureAction.giveUp(failures: 3, since: self.start + .seconds(3))
        #expect(after == [.dialAgain, .dialAgain, limit, .dialAgain])
    }
}

import FerryBinary
import FerryCore
import NIOCore
import Testing

@testable import FerryGateway

@Suite struct RejectionListTests {
    private let now = NIODeadline.uptimeNanoseconds(1_000_000_000_000)
    private let place = ListPlace(device: 1, inode: 2, offset: 3)

    private func event(_ number: UInt8, in segment: UInt64? = nil) -> ListedEvent {
        let refusal = GatewayEvent.Refusal(identity: 0, token: [number], reason: .badDeviceToken)
        return ListedEvent(event: .refused(refusal), segment: segment)
    }

    private func list(isStored: Bool = true, limit: Int = 100) -> RejectionList {
        RejectionList(clients: ["shop"], firstNumber: 7, isStored: isStored, limit: limit)
    }

    /// Asks for the place of the end, as a new list with a store does.
    private func placed(_ list: inout RejectionList, segment: UInt64 = 5) {
        #expect(list.takeBatch(durable: segment, now: self.now) == ListBatch(lines: [], after: nil))
        _ = list.written(ListAnswer(count: 0, place: self.place), segment: segment, now: self.now)
    }

    @Test func `a line is a row of the commit of its answer, and goes to the file when that is durable`() throws {
        var list = self.list()
        let (rows, lost) = list.note(self.event(1), segment: 5, at: 1)
        #expect(lost == 0)
        #expect(rows.map(\.table) == [.rejections])
        #expect(rows.map(\.key) == [[0, 0, 0, 0, 0, 0, 0, 7]])
        #expect(list.takeBatch(durable: 4, now: self.now) == nil)
        self.placed(&list)
        #expect(list.takeBatch(durable: 4, now: self.now) == nil)
        let next = list.takeBatch(durable: 5, now: self.now)
        let batch = try #require(next)
        #expect(batch.lines.count == 1 && batch.lines.first == rows.first?.value)
        #expect(batch.after == self.place)
        // One batch at a time.
        #expect(list.takeBatch(durable: 5, now: self.now) == nil)
    }

    @Test func `the next batch waits until the store has the end of the last one`() {
        var list = self.list()
        _ = list.note(self.event(1), segment: 5, at: 1)
        self.placed(&list, segment: 5)
        _ = list.note(self.event(2), segment: 6, at: 1)
        #expect(list.takeBatch(durable: 5, now: self.now)?.lines.count == 1)
        let end = ListPlace(device: 1, inode: 2, offset: 90)
        let rows = list.written(ListAnswer(count: 1, place: end), segment: 7, now: self.now)
        #expect(
            rows == [
                StoreChange(.rejections, key: [0, 0, 0, 0, 0, 0, 0, 7], value: nil),
                StoreChange(.list, key: RejectionList.placeKey, value: end.bytes),
            ]
        )
        #expect(list.takeBatch(durable: 6, now: self.now) == nil)
        #expect(list.takeBatch(durable: 7, now: self.now)?.after == end)
    }

    @Test func `a file that takes nothing is one alarm, and is tried again each second`() {
        var list = self.list(isStored: false)
        _ = list.note(self.event(1), segment: 0, at: 1)
        var now = self.now
        for _ in 0..<3 {
            #expect(list.takeBatch(durable: .max, now: now)?.lines.count == 1)
            _ = list.written(ListAnswer(count: 0, trouble: "it is full"), segment: 0, now: now)
            #expect(list.isStuck)
            #expect(list.takeBatch(durable: .max, now: now) == nil)
            now = now + RejectionList.retry
            #expect(list.nextDeadline(durable: .max) == now)
        }
        #expect(list.takeEvents() == [.listTrouble("it is full")])
        #expect(list.takeBatch(durable: .max, now: now)?.lines.count == 1)
        _ = list.written(ListAnswer(count: 1), segment: 0, now: now)
        #expect(list.takeEvents() == [.listAllClear])
        #expect(list.isIdle && list.nextDeadline(durable: .max) == nil)
    }

    @Test func `a file that took a part is not tried before the store has that`() {
        var list = self.list()
        for number in 1...2 { _ = list.note(self.event(UInt8(number)), segment: 5, at: 1) }
        let place = ListPlace(device: 1, inode: 2, offset: 0)
        #expect(list.takeBatch(durable: 5, now: self.now)?.lines.count == 0)
        _ = list.written(ListAnswer(count: 0, place: place), segment: 6, now: self.now)
        #expect(list.takeBatch(durable: 6, now: self.now)?.lines.count == 2)
        let answer = ListAnswer(count: 1, place: ListPlace(device: 1, inode: 2, offset: 90), trouble: "it is full")
        _ = list.written(answer, segment: 7, now: self.now)
        #expect(list.nextDeadline(durable: 6) == nil)
        #expect(list.nextDeadline(durable: 7) == self.now + RejectionList.retry)
    }

    @Test func `too many lines cost the oldest, with one alarm, but never those that are being written`() {
        var list = self.list(isStored: false, limit: 3)
        _ = list.note(self.event(1), segment: 0, at: 1)
        let batch = list.takeBatch(durable: .max, now: self.now)
        #expect(batch?.lines.count == 1)
        var lost = 0
        for number in 2...6 { lost += list.note(self.event(UInt8(number)), segment: 0, at: 1).lost }
        #expect(lost == 3)
        #expect(list.takeEvents() == [.listFull(limit: 3)])
        _ = list.written(ListAnswer(count: 1), segment: 0, now: self.now)
        let rest = list.takeBatch(durable: .max, now: self.now)?.lines.map { String(decoding: $0, as: UTF8.self) }
        #expect(rest?.count == 2)
        #expect(rest?.first?.contains(#""token":"05""#) == true)
        #expect(rest?.last?.contains(#""token":"06""#) == true)
    }

    @Test func `a line that is given up goes from the store, too`() {
        var list = self.list(limit: 1)
        _ = list.note(self.event(1), segment: 5, at: 1)
        let rows = list.note(self.event(2), segment: 6, at: 1).rows
        #expect(rows.map(\.key.last) == [8, 7])
        #expect(rows.map { $0.value == nil } == [false, true])
    }

    @Test func `lines that an earlier process left come first, in their order`() {
        var list = self.list()
        let rows = [UInt64(300), 2, 40].map { StoreRow(key: $0.bigEndianBytes, value: [UInt8(truncatingIfNeeded: $0)]) }
        list.restore(rows, place: self.place)
        #expect(list.takeBatch(durable: 0, now: self.now) == ListBatch(lines: [[2], [40], [44]], after: self.place))
    }

    @Test func `without a store, lines that the file does not have are lost at the end`() {
        var (list, stored) = (self.list(isStored: false), self.list())
        _ = list.note(self.event(1), segment: 0, at: 1)
        _ = stored.note(self.event(1), segment: 5, at: 1)
        #expect(list.abandon(durable: nil) == 1)
        #expect(stored.abandon(durable: nil) == 0)
    }

    @Test func `a batch that is being written stays when another process takes the store, and its rest goes then`() {
        var list = self.list()
        for number in UInt8(1)...2 { _ = list.note(self.event(number), segment: 5, at: 1) }
        self.placed(&list)
        #expect(list.takeBatch(durable: 5, now: self.now)?.lines.count == 2)
        _ = list.note(self.event(3, in: 5), segment: 6, at: 1)
        _ = list.note(self.event(4), segment: 6, at: 1)
        list.leave(durable: 5)
        #expect(list.count == 3)
        _ = list.written(ListAnswer(count: 1, trouble: "The disk is full."), segment: 6, now: self.now)
        list.leave(durable: 5)
        #expect(list.count == 1)
        list.tryNow()
        #expect(list.takeBatch(durable: .max, now: self.now)?.lines.count == 1)
        // The end comes before the answer of the file.
        #expect(list.abandon(durable: 5) == 1)
        list.leave(durable: 5)
        #expect(list.isIdle == false && list.count == 0)
    }

    @Test func `a file without places, such as a FIFO, gets its lines all the same`() {
        var list = self.list()
        _ = list.note(self.event(1), segment: 5, at: 1)
        #expect(list.takeBatch(durable: 5, now: self.now)?.lines == [])
        _ = list.written(ListAnswer(count: 0), segment: 5, now: self.now)
        #expect(list.takeBatch(durable: 5, now: self.now)?.lines.count == 1)
    }
}

import Testing

@testable import FerryHTTP2

@Suite struct AnswerRecordTests {
    private var record = AnswerRecord()

    @Test mutating func `the cost of an end is told once`() {
        self.record.wasAnswered()
        let told = [self.record.lost(.copies(3), expected: 2), self.record.lost(.copies(4), expected: 2)]
        #expect(told == [3, nil])
    }

    @Test mutating func `a GOAWAY whose promised answers do not come costs twice`() {
        let losses: [EarnedWindow.Loss] = [.copies(3), .unknown, .unknown, .copies(1)]
        let told = losses.map { self.record.lost($0, expected: 0) }
        #expect(told == [0, 0, nil, nil])
    }

    @Test mutating func `resets cost half a window once in a burst`() {
        let first = (0..<6).map { _ in self.record.wasReset(window: 8) }
        #expect(first == [false, false, false, true, false, false])
        self.record.wasAnswered()
        let second = (0..<4).map { _ in self.record.wasReset(window: 8) }
        #expect(second == [false, false, false, true])
    }
}

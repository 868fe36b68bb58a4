import Testing

@testable import FerryCommand

@Suite struct LineIndexTests {
    static func records(_ lines: [UInt64]) -> LineRecords {
        let records = LineRecords(first: lines.first ?? 0, capacity: lines.count)
        for line in lines {
            Array("\(line)".utf8).withUnsafeBufferPointer { records.append(line, ref: nil, hex: $0) }
        }
        return records
    }

    static func beginning(of line: UInt64, in index: inout LineIndex) -> String? {
        var result: String?
        _ = index.find(line)?.withBeginning(of: line) { result = String(decoding: $0, as: UTF8.self) }
        return result
    }

    @Test func `lines are found in any order, and those without a record are not`() {
        var index = LineIndex()
        index.append(Self.records([2, 3, 5]))
        index.append(Self.records([7]))
        index.append(Self.records([8, 10]))
        for line in [10, 2, 8, 5, 7, 3] as [UInt64] {
            #expect(Self.beginning(of: line, in: &index) == #"{"token":"\#(line)""#)
        }
        for line in [0, 1, 4, 6, 9, 11] as [UInt64] {
            #expect(Self.beginning(of: line, in: &index) == nil)
        }
    }

    @Test func `records are remembered for a while after their last outcome, and then freed`() {
        var index = LineIndex()
        let first = Self.records([0])
        let second = Self.records([1, 2])
        let big = LineRecords(first: 3, capacity: 1)
        Array(repeating: UInt8(ascii: "a"), count: LineIndex.memory).withUnsafeBufferPointer {
            big.append(3, ref: nil, hex: $0)
        }
        for records in [first, second, big] { index.append(records) }
        index.settle(first)
        index.settle(second)
        #expect(Self.beginning(of: 0, in: &index) == #"{"token":"0""#)
        index.settle(big)
        #expect(first.isForgotten)
        #expect(big.isForgotten)
        #expect(Self.beginning(of: 0, in: &index) == nil)
        #expect(Self.beginning(of: 1, in: &index) == #"{"token":"1""#)
        #expect(!second.isForgotten)
    }
}

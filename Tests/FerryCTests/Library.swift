import CFerry
import Foundation
import Testing

/// An opened handle, as a program in C has it. It is freed with the last reference.
final class Library {
    let handle: ferry_t

    /// The library leaves SIGPIPE as it finds it. The simulated servers in this process need it ignored, as SwiftNIO does.
    static let keepsSIGPIPEIgnored: Void = { signal(SIGPIPE, SIG_IGN) }()

    init(_ options: String) throws {
        _ = Self.keepsSIGPIPEIgnored
        var message = [CChar](repeating: 1, count: 512)
        let opened = ferry_open(options, options.utf8.count, &message, message.count)
        guard opened > 0 else { throw Refusal(code: opened, message: Self.text(message)) }
        self.handle = ferry_t(opened)
    }

    deinit { ferry_free(self.handle) }

    struct Refusal: Error {
        var code: Int64
        var message: String
    }

    static func text(_ message: [CChar]) -> String {
        String(decoding: message.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    /// Opens with wrong options; returns the error.
    static func refusal(_ options: String) -> Refusal? {
        do {
            _ = try Library(options)
            return nil
        } catch {
            return error as? Refusal
        }
    }

    /// Returns what was taken, and its length.
    func submit(_ records: [UInt8]) -> (count: Int64, used: Int) {
        var used = -1
        let count = ferry_submit(self.handle, records, records.count, &used)
        return (count, used)
    }

    func read(_ capacity: Int = 1000) -> [ferry_outcome] {
        var outcomes = [ferry_outcome](repeating: ferry_outcome(), count: capacity)
        let count = ferry_read(self.handle, &outcomes, MemoryLayout<ferry_outcome>.size, capacity)
        return Array(outcomes.prefix(max(Int(count), 0)))
    }

    /// Returns the first outcome of a run, and the tags of all.
    func readRun(_ capacity: Int = 1000) -> (outcome: ferry_outcome, tags: [UInt64]) {
        var outcome = ferry_outcome()
        var tags = [UInt64](repeating: .max, count: capacity)
        let count = ferry_read_run(self.handle, &outcome, MemoryLayout<ferry_outcome>.size, &tags, capacity)
        return (outcome, Array(tags.prefix(max(Int(count), 0))))
    }

    /// Returns an outcome in words; nil if it has none.
    func words(of outcome: ferry_outcome) -> String? {
        var outcome = outcome
        var text = [CChar](repeating: 0, count: 1024)
        let length = ferry_outcome_json(
            self.handle,
            &outcome,
            MemoryLayout<ferry_outcome>.size,
            &text,
            text.count
        )
        return 0...text.count ~= Int(length)
            ? String(decoding: text.prefix(Int(length)).map { UInt8(bitPattern: $0) }, as: UTF8.self) : nil
    }

    var ready: Int64 { ferry_wait(self.handle, 0) }

    /// Whether the descriptor is readable now.
    var isReadable: Bool {
        var entry = pollfd(fd: Int32(ferry_fd(self.handle)), events: Int16(POLLIN), revents: 0)
        return poll(&entry, 1, 0) == 1
    }

    var numbers: ferry_numbers {
        var numbers = ferry_numbers()
        #expect(ferry_counts(self.handle, &numbers, MemoryLayout<ferry_numbers>.size) == 0)
        return numbers
    }
}

/// The bytes of a record: see `ferry.h`.
func record(
    _ tag: UInt64,
    token: [UInt8] = [1, 2, 3],
    payload: String = #"{"aps":{}}"#,
    topic: String = "",
    collapseID: String = "",
    flags: UInt8 = 0,
    priority: UInt8 = 0,
    pushType: UInt8 = 0,
    apnsID: [UInt8] = []
) -> [UInt8] {
    let bytes = token + Array(payload.utf8) + Array(topic.utf8) + Array(collapseID.utf8) + apnsID
    var record: [UInt8] = []
    func append<Number: FixedWidthInteger>(_ number: Number) {
        withUnsafeBytes(of: number.littleEndian) { record += $0 }
    }
    append(UInt32(24 + bytes.count))
    append(tag)
    append(UInt32(0))
    record += [flags, priority, pushType, UInt8(token.count)]
    append(UInt16(payload.utf8.count))
    record += [UInt8(topic.utf8.count), UInt8(collapseID.utf8.count)]
    return record + bytes
}

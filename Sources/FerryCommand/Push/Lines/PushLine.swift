internal import FerryCore

/// What a good line of the input says. Its bytes belong to the line and the parser, and are valid until the next one.
struct PushLine {
    /// The device token as the line has it: hexadecimal digits.
    var hex: UnsafeBufferPointer<UInt8>
    var token: UnsafeBufferPointer<UInt8>
    /// As it stands in the line.
    var payload: UnsafeBufferPointer<UInt8>
    var topic: UnsafeBufferPointer<UInt8>
    var collapseID: UnsafeBufferPointer<UInt8>
    var apnsID: APNSID?
    var pushType: PushType?
    var priority: Priority?
    var expiration: Expiration?
    /// The JSON value of `ref`, as it stands in the line; nil when there is none.
    var ref: UnsafeBufferPointer<UInt8>?
}

/// Everything that is wrong with a line, in words. Quotes nothing of the line.
struct LineFaults: Error, Equatable, CustomStringConvertible {
    var messages: [String] = []

    var description: String { self.messages.joined(separator: "; ") }

    mutating func add(_ message: String) { self.messages.append(message) }

    mutating func add(_ faults: [ValidationError.Fault]) {
        self.messages += faults.map(\.message)
    }
}

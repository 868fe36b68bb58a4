internal import FerryCore

/// A good line of the input. Its bytes belong to the line and the parser, and are valid until the next line.
struct PushLine {
    /// The hexadecimal digits of the device token, without white space and brackets of the line.
    var hex: UnsafeBufferPointer<UInt8>
    var token: UnsafeBufferPointer<UInt8>
    /// The payload, as in the line or in the file of `--payload`.
    var payload: UnsafeBufferPointer<UInt8>
    var topic: UnsafeBufferPointer<UInt8>
    var collapseID: UnsafeBufferPointer<UInt8>
    var apnsID: APNSID?
    var pushType: PushType?
    var priority: Priority?
    var expiration: Expiration?
    /// The JSON value of `ref`, as in the line. Nil if there is no `ref`.
    var ref: UnsafeBufferPointer<UInt8>?
}

/// All faults of a line, in words. Quotes no part of the line.
struct LineFaults: Error, Equatable, CustomStringConvertible {
    var messages: [String] = []

    var description: String { self.messages.joined(separator: "; ") }

    mutating func add(_ message: String) { self.messages.append(message) }

    mutating func add(_ faults: [PushValidationError.Fault]) {
        self.messages += faults.map(\.message)
    }
}

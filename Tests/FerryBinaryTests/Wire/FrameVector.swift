import FerryCore
internal import FerryBinary
internal import Testing

/// A line of `frames.jsonl`.
struct FrameVector: Decodable, CustomTestStringConvertible {
    var name: String
    var hex: String
    var valid: Bool
    var command: UInt8?
    var token: String?
    var payload: String?
    var identifier: UInt32?
    var expiration: UInt32?
    var priority: UInt8?
    var why: String?

    var testDescription: String { self.name }

    static var all: [FrameVector] {
        get throws { try vectors(lines: "frames.jsonl", as: FrameVector.self) }
    }

    /// Whether Ferry would write exactly these bytes.
    var canBeWritten: Bool {
        guard self.valid, let command = self.command else { return false }
        let fiveItemsInOrder = ["frame, Ferry order", "frame, items 3 1 2 4 5"].contains(self.name)
        return command != Command.frame.rawValue || fiveItemsInOrder
    }

    /// Returns the expected reading of the bytes by a gateway.
    func expectation() throws -> Expectation {
        if self.valid {
            return .accepted(
                token: try bytes(hex: #require(self.token)),
                payload: try Array(#require(self.payload).utf8),
                identifier: self.identifier,
                expiration: self.expiration,
                priority: self.priority
            )
        }
        let why = try #require(self.why)
        if why.contains("close") { return .closed }
        let status = why.split(separator: "status ").dropFirst().first.flatMap { UInt8($0.prefix { $0.isNumber }) }
        return .refused(BinaryStatus(rawValue: status ?? BinaryStatus.protocolError.rawValue), self.identifier)
    }
}

/// The reading of a stream, one notification after the other. It has no ranges, because they depend on the cuts.
enum Expectation: Equatable {
    case accepted(token: [UInt8], payload: [UInt8], identifier: UInt32?, expiration: UInt32?, priority: UInt8?)
    case refused(BinaryStatus, UInt32?)
    case closed
}

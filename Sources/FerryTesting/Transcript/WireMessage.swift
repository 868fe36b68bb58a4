internal import FerryBinary
internal import FerryCore

/// A message of a stream, complete or truncated, with the field of each byte.
struct WireMessage: Hashable {
    private(set) var bytes: [UInt8] = []
    private(set) var fields: [WireFields.Field] = []
    /// True if the last byte has arrived.
    fileprivate(set) var isComplete = false

    fileprivate mutating func append(_ byte: UInt8, _ field: WireFields.Field) {
        self.bytes.append(byte)
        self.fields.append(field)
    }

    /// Returns the bytes of one field, in their order.
    func bytes(of field: WireFields.Field) -> [UInt8] {
        zip(self.bytes, self.fields).compactMap { $1 == field ? $0 : nil }
    }

    /// Returns a field of up to four bytes as a number; nil if the message has no such field.
    func number(_ field: WireFields.Field) -> UInt32? {
        let bytes = self.bytes(of: field)
        return bytes.isEmpty ? nil : bytes.reduce(0) { $0 << 8 | UInt32($1) }
    }

    /// False if the bytes are not a message.
    var isReadable: Bool { self.fields.first != .unreadable }

    var identifier: UInt32? { self.number(.identifier) }

    /// Returns whether both messages are equal byte for byte, except for the fields in `varying`.
    func equals(_ other: WireMessage, varying: ReplayMode.Varying) -> Bool {
        if self.bytes == other.bytes { return self.isComplete == other.isComplete }
        guard self.fields == other.fields, self.isComplete == other.isComplete else { return false }
        return zip(zip(self.bytes, other.bytes), self.fields).allSatisfy { bytes, field in
            bytes.0 == bytes.1 || varying.allows(field)
        } && self.expires == other.expires
    }

    /// Returns whether both messages mean the same. The order of items, unknown items and the default priority do not
    /// matter.
    func means(_ other: WireMessage, varying: ReplayMode.Varying) -> Bool {
        if self.bytes == other.bytes { return self.isComplete == other.isComplete }
        guard self.isComplete, other.isComplete, self.fields.first == other.fields.first,
            self.isReadable
        else { return self == other }
        let isSame = [.token, .payload, .status, .identifier, .expiration, .time].allSatisfy { field in
            varying.allows(field) || self.bytes(of: field) == other.bytes(of: field)
        }
        return isSame && self.command == other.command && self.priority == other.priority
            && self.expires == other.expires
    }

    /// Returns the names of the fields that differ, except for those in `varying`. Empty unless both messages are
    /// complete and of the same kind.
    func differences(from other: WireMessage, varying: ReplayMode.Varying) -> [String] {
        guard self.isReadable, self.isComplete, other.isComplete, self.fields.first == other.fields.first,
            (self.command == ErrorResponse.command) == (other.command == ErrorResponse.command)
        else { return [] }
        let fields: [WireFields.Field] = [.status, .identifier, .time, .expiration, .token, .payload]
        var names = fields.filter { !varying.allows($0) && self.bytes(of: $0) != other.bytes(of: $0) }.map { "\($0)" }
        if self.command != other.command { names.insert("command", at: 0) }
        if self.priority != other.priority { names.append("priority") }
        if self.expires != other.expires, varying.allows(.expiration) { names.append("whether it expires") }
        return names.isEmpty && self.fields != other.fields ? ["items"] : names
    }

    private var command: UInt8? { self.fields.first == .command ? self.bytes.first : nil }

    private var priority: UInt32 { self.number(.priority) ?? UInt32(Priority.immediate.rawValue) }

    /// False for 0, which is not a time: it means that the notification is not stored.
    private var expires: Bool { (self.number(.expiration) ?? 0) != 0 }

    /// A description of the message in the words of the protocol. Of tokens and payloads, it gives only the lengths.
    var summary: String {
        guard let first = self.fields.first, self.isReadable else {
            return "\(self.bytes.count) bytes that are no message"
        }
        var parts: [String] = []
        if let identifier = self.identifier { parts.append("identifier \(identifier)") }
        if let status = self.number(.status).map({ BinaryStatus(rawValue: UInt8(truncatingIfNeeded: $0)) }) {
            parts.append("status \(status.rawValue) (\(status))")
        }
        for field in [WireFields.Field.time, .expiration, .priority] {
            if let number = self.number(field) { parts.append("\(field) \(number)") }
        }
        if self.fields.contains(.header) {
            parts.append("a token of \(self.bytes(of: .token).count) bytes")
            if first == .command { parts.append("a payload of \(self.bytes(of: .payload).count) bytes") }
        }
        let name =
            switch (first, self.bytes.first) {
            case (.command, ErrorResponse.command): "error response"
            case (.command, let command?): "notification, command \(command)"
            default: "feedback tuple"
            }
        let ending = self.isComplete ? "" : ", cut short after \(self.bytes.count) bytes"
        return "\(([name] + parts).joined(separator: ", "))\(ending)"
    }
}

/// A reader that splits a stream into messages. Each byte outside of a message counts as a message by itself.
struct WireMessageReader {
    private var fields: WireFields
    /// The message that has begun. It holds at most `NotificationDecoder.maximumFrameLength` bytes and a header.
    private(set) var partial = WireMessage()

    init(_ service: Transcript.Service, sentBy sender: Transcript.Side) {
        self.fields = WireFields(service, sentBy: sender)
    }

    /// Takes a byte and returns the message that it completes, if it completes one.
    mutating func next(_ byte: UInt8) -> WireMessage? {
        let field = self.fields.next(byte)
        self.partial.append(byte, field)
        guard field == .unreadable || self.fields.isAtBoundary else { return nil }
        var message = WireMessage()
        swap(&message, &self.partial)
        message.isComplete = true
        return message
    }
}

internal import FerryBinary

/// A parser that names the field of each byte of a stream, and the ends of messages. The stream may arrive in any
/// pieces.
///
/// It checks only the framing: a message that a gateway would refuse is parsed like any other. Bytes that are not a
/// message, and all bytes after them, are ``Field/unreadable``. (`NotificationEncoder`, `ErrorResponse` and
/// `FeedbackTuple` show the layouts.)
struct WireFields {
    /// The field that a byte belongs to.
    enum Field: Hashable {
        /// The first byte of a notification or an error response.
        case command
        /// A length, or the number of an item.
        case header
        case identifier
        case token
        case payload
        case expiration
        case priority
        case status
        /// The time of a feedback tuple.
        case time
        /// An item with a number that Apple never documented.
        case unknownItem
        case unreadable
    }

    private enum Segment {
        /// A field of that many bytes, at least one.
        case field(Field, Int)
        /// `u16 length`, then that many bytes.
        case sized(Field)
        /// `u32 length`, then items up to that length.
        case frame
        /// `u8 number, u16 length`, then that many bytes; repeated until the frame ends.
        case item
    }

    private let service: Transcript.Service
    private let sender: Transcript.Side
    /// The remaining segments of the message, in reverse order: the next one is last.
    private var plan: [Segment] = []
    /// The number that is being read, and how many of its bytes have arrived.
    private var number = 0
    private var numberLength = 0
    private var itemNumber: UInt8 = 0
    /// The remaining bytes of the frame.
    private var frameLeft = 0
    private var isLost = false

    init(_ service: Transcript.Service, sentBy sender: Transcript.Side) {
        self.service = service
        self.sender = sender
    }

    /// True if the next byte begins a message.
    var isAtBoundary: Bool { self.plan.isEmpty && !self.isLost }

    /// Takes the next byte and returns its field.
    mutating func next(_ byte: UInt8) -> Field {
        guard !self.isLost else { return .unreadable }
        guard let segment = self.plan.popLast() else { return self.begin(byte) }
        switch segment {
        case .field(let field, let count):
            self.frameLeft -= 1
            if count > 1 { self.plan.append(.field(field, count - 1)) }
            return field
        case .sized(let field):
            guard let length = self.read(byte, of: 2) else { return self.repeatHeader(segment) }
            if length > 0 { self.plan.append(.field(field, length)) }
            return .header
        case .frame:
            guard let length = self.read(byte, of: 4) else { return self.repeatHeader(segment) }
            guard length <= NotificationDecoder.maximumFrameLength else { return self.lose() }
            self.frameLeft = length
            if length > 0 { self.plan.append(.item) }
            return .header
        case .item:
            return self.readItem(byte)
        }
    }

    private mutating func begin(_ byte: UInt8) -> Field {
        switch (self.service, self.sender) {
        case (.gateway, .client):
            switch Command(rawValue: byte) {
            case .simple: self.plan = [.sized(.payload), .sized(.token)]
            case .enhanced:
                self.plan = [.sized(.payload), .sized(.token), .field(.expiration, 4), .field(.identifier, 4)]
            case .frame: self.plan = [.frame]
            case nil: return self.lose()
            }
            return .command
        case (.gateway, .server):
            guard byte == ErrorResponse.command else { return self.lose() }
            self.plan = [.field(.identifier, 4), .field(.status, 1)]
            return .command
        case (.feedback, .server):
            self.plan = [.sized(.token), .field(.time, 3)]
            return .time
        case (.feedback, .client):
            return self.lose()
        }
    }

    private mutating func readItem(_ byte: UInt8) -> Field {
        self.frameLeft -= 1
        if self.numberLength == 0 && self.itemNumber == 0 {
            self.itemNumber = byte
            // Item 0 does not exist. Its header is parsed like any other, and its bytes are an unknown item.
            if byte == 0 { self.itemNumber = .max }
            if self.frameLeft > 0 { self.plan.append(.item) }
            return .header
        }
        guard let declared = self.read(byte, of: 2) else {
            if self.frameLeft > 0 { self.plan.append(.item) } else { self.endItem() }
            return .header
        }
        let length = min(declared, self.frameLeft)
        if self.frameLeft > length { self.plan.append(.item) }
        if length > 0 { self.plan.append(.field(Self.field(ofItem: self.itemNumber), length)) }
        self.endItem()
        return .header
    }

    private mutating func endItem() {
        self.itemNumber = 0
        self.number = 0
        self.numberLength = 0
    }

    private static func field(ofItem number: UInt8) -> Field {
        switch number {
        case Item.deviceToken: .token
        case Item.payload: .payload
        case Item.identifier: .identifier
        case Item.expiration: .expiration
        case Item.priority: .priority
        default: .unknownItem
        }
    }

    /// Reads one byte of a number in network order. Returns nil until its last byte has arrived.
    private mutating func read(_ byte: UInt8, of length: Int) -> Int? {
        self.number = self.number << 8 | Int(byte)
        self.numberLength += 1
        guard self.numberLength == length else { return nil }
        defer {
            self.number = 0
            self.numberLength = 0
        }
        return self.number
    }

    private mutating func repeatHeader(_ segment: Segment) -> Field {
        self.plan.append(segment)
        return .header
    }

    private mutating func lose() -> Field {
        self.isLost = true
        return .unreadable
    }
}

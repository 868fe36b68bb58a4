/// Replaces device tokens and payloads of one side's stream, length for length, as the bytes pass.
///
/// The same token becomes the same other one throughout a recording, and different tokens stay different; a payload
/// becomes a JSON object of the same length, or as much of one as fits. What is no message becomes zeros, since nothing
/// says what it holds. The key of the replacement is made anew for each recording and kept nowhere.
struct TranscriptRedactor {
    /// The secret of one recording.
    struct Key {
        fileprivate let hasher: Hasher

        init() {
            var hasher = Hasher()
            hasher.combine(UInt64.random(in: .min ... .max))
            hasher.combine(UInt64.random(in: .min ... .max))
            self.hasher = hasher
        }
    }

    private let key: Key
    private var reader: WireFields
    /// Of the token that is being read.
    private var token: Hasher
    /// The place in the payload that is being read.
    private var place = 0
    private var length: [UInt8] = []

    init(_ service: Transcript.Service, sentBy sender: Transcript.Side, key: Key) {
        self.key = key
        self.reader = WireFields(service, sentBy: sender)
        self.token = key.hasher
    }

    /// The bytes, redacted.
    mutating func redact(_ bytes: [UInt8]) -> [UInt8] {
        bytes.map { self.redact($0) }
    }

    private mutating func redact(_ byte: UInt8) -> UInt8 {
        let field = self.reader.next(byte)
        switch field {
        case .token:
            // What a byte becomes depends on those before it, so that nothing need be held back.
            let mask = UInt8(truncatingIfNeeded: Self.value(of: self.token))
            self.token.combine(byte)
            return byte ^ mask
        case .payload:
            defer { self.place += 1 }
            return Self.payload(at: self.place, of: self.payloadLength)
        case .unreadable:
            return 0
        default:
            self.token = self.key.hasher
            self.place = 0
            self.length = self.length.suffix(1) + [byte]
            return byte
        }
    }

    /// The two bytes before the payload.
    private var payloadLength: Int { self.length.reduce(0) { $0 << 8 | Int($1) } }

    private static func value(of hasher: Hasher) -> Int { hasher.finalize() }

    private static func payload(at place: Int, of length: Int) -> UInt8 {
        let head = Array(#"{"aps":{"alert":""#.utf8), tail = Array(#""}}"#.utf8)
        guard length >= head.count + tail.count else {
            return place == 0 ? UInt8(ascii: "{") : place == length - 1 ? UInt8(ascii: "}") : UInt8(ascii: " ")
        }
        if place < head.count { return head[place] }
        let fromEnd = length - place
        // An item that its frame cuts short ends in the middle of the object.
        return 1...tail.count ~= fromEnd ? tail[tail.count - fromEnd] : UInt8(ascii: "x")
    }
}

extension Transcript {
    /// The transcript with other tokens and payloads in place of its own, length for length, and without comments.
    ///
    /// Everything else stays, byte for byte, so that it replays as before against what answers by lengths and order.
    public func redacted() -> Transcript {
        let key = TranscriptRedactor.Key()
        var redactors: [Stream: TranscriptRedactor] = [:]
        var result = self
        for index in result.events.indices {
            result.events[index].comment = nil
            guard case .bytes(let bytes) = result.events[index].kind else { continue }
            let sender = result.events[index].sender
            let stream = Stream(connection: result.events[index].connection, sender: sender)
            var redactor = redactors[stream] ?? TranscriptRedactor(self.service, sentBy: sender, key: key)
            result.events[index].kind = .bytes(redactor.redact(bytes))
            redactors[stream] = redactor
        }
        return result
    }

    /// One direction of one connection.
    struct Stream: Hashable {
        var connection: Int
        var sender: Side
    }
}

/// Replaces the device tokens and payloads in the stream of one side while the bytes pass. All lengths stay the same.
///
/// Within a recording, equal tokens get equal replacements, and different tokens get different ones. A payload becomes
/// a JSON object of the same length, or the part of one that fits. Bytes that are not a message become zeros, because
/// they may contain a token. Each recording gets a new random key, which is never stored.
struct TranscriptRedactor {
    /// The secret key of one recording.
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
    /// The keyed hash of the current token's bytes so far.
    private var token: Hasher
    /// The position in the current payload.
    private var place = 0
    private var length: [UInt8] = []

    init(_ service: Transcript.Service, sentBy sender: Transcript.Side, key: Key) {
        self.key = key
        self.reader = WireFields(service, sentBy: sender)
        self.token = key.hasher
    }

    /// Returns the bytes with tokens and payloads replaced.
    mutating func redact(_ bytes: [UInt8]) -> [UInt8] {
        bytes.map { self.redact($0) }
    }

    private mutating func redact(_ byte: UInt8) -> UInt8 {
        let field = self.reader.next(byte)
        switch field {
        case .token:
            // A byte's replacement depends only on the bytes up to it. If it needed later bytes, the recorder would
            // have to delay the stream.
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

    /// The payload's length, from the two bytes before it.
    private var payloadLength: Int { self.length.reduce(0) { $0 << 8 | Int($1) } }

    private static func value(of hasher: Hasher) -> Int { hasher.finalize() }

    private static func payload(at place: Int, of length: Int) -> UInt8 {
        let head = Array(#"{"aps":{"alert":""#.utf8), tail = Array(#""}}"#.utf8)
        guard length >= head.count + tail.count else {
            return place == 0 ? UInt8(ascii: "{") : place == length - 1 ? UInt8(ascii: "}") : UInt8(ascii: " ")
        }
        if place < head.count { return head[place] }
        let fromEnd = length - place
        // The frame can end before the item does. The object then lacks its end.
        return 1...tail.count ~= fromEnd ? tail[tail.count - fromEnd] : UInt8(ascii: "x")
    }
}

extension Transcript {
    /// Returns the transcript with tokens and payloads replaced, and without comments. All lengths stay the same.
    ///
    /// All other bytes stay as they are. So a replay gives the same result with a peer that judges only lengths and
    /// order.
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

    /// A direction of a connection.
    struct Stream: Hashable {
        var connection: Int
        var sender: Side
    }
}

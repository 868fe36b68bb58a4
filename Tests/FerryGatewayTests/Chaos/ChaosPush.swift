/// A push of a chaos run. Its device token carries its number, so that nobody has to remember which token was whose.
struct ChaosPush: Hashable, Sendable {
    /// What happens to the push in the end. The first byte of the token says it to the simulated APNs.
    enum Kind: UInt8, Sendable {
        case good = 0x0a
        /// APNs refuses the token with 400.
        case bad = 0xbd
        /// APNs answers 410.
        case gone = 0x41
        /// The payload is no JSON, so that the gateway itself refuses it.
        case faulty = 0xfa
    }

    static let tokenLength = 8

    var number: UInt32
    var kind: Kind
    /// A random byte. APNs has trouble with some of them for a while.
    var weather: UInt8

    init(number: UInt32, kind: Kind, weather: UInt8) {
        self.number = number
        self.kind = kind
        self.weather = weather
    }

    /// Nil: no push has this token.
    init?(token: some Collection<UInt8>) {
        let bytes = Array(token)
        guard bytes.count == Self.tokenLength, let kind = Kind(rawValue: bytes[0]), bytes[2] == 0, bytes[3] == 0xc4
        else { return nil }
        let number = bytes[4...].reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
        self.init(number: number, kind: kind, weather: bytes[1])
    }

    var token: [UInt8] { [self.kind.rawValue, self.weather, 0, 0xc4] + Self.bytes(self.number) }

    /// The same for each copy, and different for each push.
    var payload: [UInt8] {
        let padding = String(repeating: "n", count: Int(self.weather) * 6)
        let text = #"{"aps":{"alert":"\#(self.number)","note":"\#(padding)"}}"#
        return Array(text.utf8.dropLast(self.kind == .faulty ? 2 : 0))
    }

    /// The push as an old library writes it.
    func bytes(command: UInt8, identifier: UInt32, expiration: UInt32 = 0) -> [UInt8] {
        let (token, payload) = (self.token, self.payload)
        let tokenLength = Self.bytes(UInt16(token.count))
        let payloadLength = Self.bytes(UInt16(payload.count))
        switch command {
        case 0:
            return [0] + tokenLength + token + payloadLength + payload
        case 1:
            return [1] + Self.bytes(identifier) + Self.bytes(expiration) + tokenLength + token + payloadLength + payload
        default:
            let items =
                [1] + tokenLength + token + [2] + payloadLength + payload
                + [3, 0, 4] + Self.bytes(identifier) + [4, 0, 4] + Self.bytes(expiration) + [5, 0, 1, 10]
            return [2] + Self.bytes(UInt32(items.count)) + items
        }
    }

    /// The bytes of a number in network order.
    static func bytes(_ number: some FixedWidthInteger) -> [UInt8] { withUnsafeBytes(of: number.bigEndian, Array.init) }
}

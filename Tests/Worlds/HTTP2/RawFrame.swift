/// Frames of HTTP/2 byte by byte, for frames that our sessions never send.
///
/// Their fields are literals that no table keeps, so they fit between the frames of any session.
enum RawFrame {
    static func bytes(type: UInt8, flags: UInt8 = 0, stream: Int32 = 0, _ payload: [UInt8] = []) -> [UInt8] {
        let length = (0..<3).map { UInt8(truncatingIfNeeded: payload.count >> (16 - 8 * $0)) }
        let number = (0..<4).map { UInt8(truncatingIfNeeded: stream >> (24 - 8 * Int32($0))) }
        return length + [type, flags] + number + payload
    }

    static func field(_ name: String, _ value: String) -> [UInt8] {
        [0, UInt8(name.utf8.count)] + Array(name.utf8) + [UInt8(value.utf8.count)] + Array(value.utf8)
    }

    static func headers(_ stream: Int32, _ fields: [(String, String)], isLast: Bool = false) -> [UInt8] {
        self.bytes(type: 1, flags: isLast ? 5 : 4, stream: stream, fields.flatMap { self.field($0.0, $0.1) })
    }

    static func data(_ stream: Int32, _ bytes: [UInt8], isLast: Bool = false) -> [UInt8] {
        self.bytes(type: 0, flags: isLast ? 1 : 0, stream: stream, bytes)
    }

    static func reset(_ stream: Int32, _ errorCode: UInt8) -> [UInt8] {
        self.bytes(type: 3, stream: stream, [0, 0, 0, errorCode])
    }

    static func settings(maxConcurrentStreams limit: UInt8) -> [UInt8] {
        self.bytes(type: 4, [0, 3, 0, 0, 0, limit])
    }

    static func pushPromise(_ stream: Int32, promised: Int32) -> [UInt8] {
        let number = (0..<4).map { UInt8(truncatingIfNeeded: promised >> (24 - 8 * Int32($0))) }
        let fields = [(":method", "GET"), (":scheme", "https"), (":path", "/"), (":authority", "a")]
        return self.bytes(type: 5, flags: 4, stream: stream, number + fields.flatMap { self.field($0.0, $0.1) })
    }

    static let ping = RawFrame.bytes(type: 6, [UInt8](repeating: 7, count: 8))
}

package import FerryCore

/// An encoder that writes notifications straight from a batch's arena, in each of the three commands.
///
/// It allocates nothing and checks nothing, because lengths were validated when the entry was appended to its batch.
/// The caller must refuse a payload that is too long for the protocol.
///
/// ```
/// simple    00 | u16 token length | token | u16 payload length | payload
///
/// enhanced  01 | u32 identifier | u32 expiration | u16 token length | token | u16 payload length | payload
///
/// frame     02 | u32 frame length
///              | 03 | 00 04 | u32 identifier
///              | 01 | u16 token length | token
///              | 02 | u16 payload length | payload
///              | 04 | 00 04 | u32 expiration
///              | 05 | 00 01 | u8 priority
/// ```
///
/// A frame has all five items, because strict gateways demand them all. The identifier comes first, so that a gateway
/// that fails at the token can still name the notification.
package enum NotificationEncoder {
    /// Returns the number of bytes that a command adds to token and payload.
    @inline(__always)
    package static func overhead(of command: Command) -> Int {
        switch command {
        case .simple: 1 + 2 + 2
        case .enhanced: 1 + 4 + 4 + 2 + 2
        case .frame: 5 + 7 + 3 + 3 + 7 + 4
        }
    }

    /// Returns the number of bytes that ``write(_:arena:identifier:command:to:)`` will write.
    @inline(__always)
    package static func length(of entry: BatchEntry, command: Command) -> Int {
        self.overhead(of: command) &+ Int(entry.tokenLength) &+ Int(entry.payloadLength)
    }

    /// Writes one notification to `target`, which must have room for ``length(of:command:)`` bytes, and returns that
    /// length.
    ///
    /// - Parameter arena: the arena of the entry's storage. The entry holds the positions of token and payload in it.
    @inline(__always)
    package static func write(
        _ entry: BatchEntry,
        arena: UnsafePointer<UInt8>,
        identifier: UInt32,
        command: Command,
        to target: UnsafeMutableRawPointer
    ) -> Int {
        let expiration = entry.fields.hasExpiration ? entry.expiration : 0
        let body = Body(
            token: UnsafeRawPointer(arena + Int(entry.offset)),
            tokenLength: UInt16(entry.tokenLength),
            payloadLength: entry.payloadLength
        )
        var writer = Writer(target)
        switch command {
        case .simple:
            writer.put(Command.simple.rawValue)
            writer.put(body)
        case .enhanced:
            writer.put(Command.enhanced.rawValue)
            writer.put(identifier)
            writer.put(expiration)
            writer.put(body)
        case .frame:
            writer.put(body, identifier: identifier, expiration: expiration, priority: self.priority(entry.priority))
        }
        return writer.target - target
    }

    /// Returns the priority byte: 10 if the notification has no priority, and 5 for HTTP/2's 1.
    @inline(__always)
    private static func priority(_ rawValue: UInt8) -> UInt8 {
        switch rawValue {
        case 0: Priority.immediate.rawValue
        case Priority.low.rawValue: Priority.powerAware.rawValue
        default: rawValue
        }
    }
}

extension NotificationEncoder {
    /// The length of a probe in bytes.
    package static let probeLength = overhead(of: .frame) + probePayload.utf8CodeUnitCount

    private static var probePayload: StaticString { "{}" }

    /// Writes a probe: a frame with an empty token. Every gateway refuses it, and the refusal proves how far the
    /// gateway has read.
    ///
    /// - Returns: ``probeLength``.
    package static func writeProbe(identifier: UInt32, to target: UnsafeMutableRawPointer) -> Int {
        let body = Body(
            token: self.probePayload.utf8Start,
            tokenLength: 0,
            payloadLength: UInt16(self.probePayload.utf8CodeUnitCount)
        )
        var writer = Writer(target)
        writer.put(body, identifier: identifier, expiration: 0, priority: Priority.immediate.rawValue)
        return writer.target - target
    }
}

/// Token and payload, which are adjacent in memory.
private struct Body {
    var token: UnsafeRawPointer
    var tokenLength: UInt16
    var payloadLength: UInt16

    @inline(__always)
    var payload: UnsafeRawPointer { self.token + Int(self.tokenLength) }
}

/// A writer of numbers in network order, one after the other, at any alignment.
private struct Writer {
    private(set) var target: UnsafeMutableRawPointer

    @inline(__always)
    init(_ target: UnsafeMutableRawPointer) {
        self.target = target
    }

    @inline(__always)
    mutating func put<Integer: FixedWidthInteger & BitwiseCopyable>(_ value: Integer) {
        self.target.storeBytes(of: value.bigEndian, as: Integer.self)
        self.target += MemoryLayout<Integer>.size
    }

    /// Stores a token. In practice tokens have 32 bytes, so one store replaces a call.
    @inline(__always)
    mutating func put(token: UnsafeRawPointer, count: Int) {
        typealias Token = SIMD32<UInt8>
        if count == MemoryLayout<Token>.size {
            self.target.storeBytes(of: token.loadUnaligned(as: Token.self), as: Token.self)
            self.target += count
        } else {
            self.put(token, count: count)
        }
    }

    @inline(__always)
    mutating func put(_ bytes: UnsafeRawPointer, count: Int) {
        self.target.copyMemory(from: bytes, byteCount: count)
        self.target += count
    }

    /// Writes token and payload in the form of commands 0 and 1.
    @inline(__always)
    mutating func put(_ body: Body) {
        self.put(body.tokenLength)
        self.put(token: body.token, count: Int(body.tokenLength))
        self.put(body.payloadLength)
        self.put(body.payload, count: Int(body.payloadLength))
    }

    /// Writes a whole frame. Neighbouring fields are stored eight bytes at a time.
    @inline(__always)
    mutating func put(_ body: Body, identifier: UInt32, expiration: UInt32, priority: UInt8) {
        let length =
            NotificationEncoder.overhead(of: .frame) &- 5 &+ Int(body.tokenLength) &+ Int(body.payloadLength)
        self.put(0x02_00000000_03_0004 | UInt64(length) << 24)
        self.put(identifier)
        self.put(Item.deviceToken)
        self.put(body.tokenLength)
        self.put(token: body.token, count: Int(body.tokenLength))
        self.put(Item.payload)
        self.put(body.payloadLength)
        self.put(body.payload, count: Int(body.payloadLength))
        self.put(0x04_0004_00000000_05 | UInt64(expiration) << 8)
        self.put(1 as UInt16)
        self.put(priority)
    }
}

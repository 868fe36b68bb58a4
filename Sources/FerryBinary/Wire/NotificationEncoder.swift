package import FerryCore

/// Writes notifications straight from a batch's arena, in each of the three commands.
///
/// Nothing is allocated and nothing checked: lengths were validated when the entry was appended to its batch, and a
/// payload too long for the wire is the caller's to refuse.
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
/// A frame has all five items, because strict gateways want them all, and the identifier comes first, so that a
/// gateway that stumbles over the token can still name the notification.
package enum NotificationEncoder {
    /// What a command adds to token and payload.
    @inline(__always)
    package static func overhead(of command: Command) -> Int {
        switch command {
        case .simple: 1 + 2 + 2
        case .enhanced: 1 + 4 + 4 + 2 + 2
        case .frame: 5 + 7 + 3 + 3 + 7 + 4
        }
    }

    /// How many bytes ``write(_:arena:identifier:command:to:)`` will write.
    @inline(__always)
    package static func length(of entry: BatchEntry, command: Command) -> Int {
        self.overhead(of: command) &+ Int(entry.tokenLength) &+ Int(entry.payloadLength)
    }

    /// Writes one notification to `target`, which has room for ``length(of:command:)`` bytes, and returns that length.
    ///
    /// - Parameter arena: the arena of the entry's storage; the entry says where in it token and payload lie.
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

    /// The priority on this wire: what none was given for goes out as 10, and HTTP/2's 1 as 5.
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
    /// The length of a probe.
    package static let probeLength = overhead(of: .frame) + probePayload.utf8CodeUnitCount

    private static var probePayload: StaticString { "{}" }

    /// Writes a probe: a frame with an empty token, which every gateway refuses, and so proves how far it has read.
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

/// Token and payload, which lie next to each other in memory.
private struct Body {
    var token: UnsafeRawPointer
    var tokenLength: UInt16
    var payloadLength: UInt16

    @inline(__always)
    var payload: UnsafeRawPointer { self.token + Int(self.tokenLength) }
}

/// Stores in network order, one behind the other, at any alignment.
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

    /// Tokens have 32 bytes in practice, which is one store instead of a call.
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

    /// Token and payload as commands 0 and 1 have them.
    @inline(__always)
    mutating func put(_ body: Body) {
        self.put(body.tokenLength)
        self.put(token: body.token, count: Int(body.tokenLength))
        self.put(body.payloadLength)
        self.put(body.payload, count: Int(body.payloadLength))
    }

    /// A whole frame. Neighbouring fields are stored eight bytes at a time.
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

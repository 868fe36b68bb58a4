internal import NIOCore

/// Version 2 of the PROXY protocol: bytes in network order.
///
/// ```
/// 0D 0A 0D 0A 00 0D 0A 51 55 49 54 0A   signature
/// 21                                    version 2; command: 0 LOCAL, 1 PROXY
/// 11                                    family: 0 unnamed, 1 IPv4, 2 IPv6, 3 Unix; transport: 0 unnamed, 1 TCP, 2 UDP
/// 00 0C                                 the length of the rest
/// C6 33 64 07  CB 00 71 01              addresses of client and proxy: 4 bytes each, or 16
/// DC 04  08 93                          ports of client and proxy
/// …                                     additions (TLV), which have no meaning here
/// ```
enum ProxyHeaderV2 {
    static let signature: [UInt8] = [0x0D, 0x0A, 0x0D, 0x0A, 0x00, 0x0D, 0x0A, 0x51, 0x55, 0x49, 0x54, 0x0A]
    /// The number of bytes before the addresses. The last two of these bytes give the length of the rest.
    private static let head = 16
    /// The longest header in bytes. The length field allows 64 KB. A proxy that adds names and certificates of TLS
    /// sends a few hundred bytes.
    static let limit = 4096

    static func read(_ bytes: inout ByteBuffer) throws(ProxyHeaderFault) -> ProxyHeader? {
        let given = bytes.readableBytesView.prefix(self.signature.count)
        guard given.elementsEqual(self.signature.prefix(given.count)) else { throw .missing(isTLS: false) }
        var rest = bytes
        rest.moveReaderIndex(forwardBy: given.count)
        guard let (command, family, length) = rest.readMultipleIntegers(as: (UInt8, UInt8, UInt16).self) else {
            return nil
        }
        guard command >> 4 == 2 else { throw .malformed("its version is \(command >> 4), and not 2") }
        guard Self.head + Int(length) <= self.limit else { throw .tooLong(self.limit) }
        guard var body = rest.readSlice(length: Int(length)) else { return nil }
        bytes = rest
        switch command & 0x0F {
        case 0: return .own
        case 1: return try self.read(family: family, &body)
        case let other: throw .malformed("its command is \(other), which is neither LOCAL nor PROXY")
        }
    }

    private static func read(family: UInt8, _ body: inout ByteBuffer) throws(ProxyHeaderFault) -> ProxyHeader {
        let length: Int
        switch (family >> 4, family & 0x0F) {
        case (0, 0...2), (3, 0...2): return .unnamed
        case (1, 1): length = 4
        case (2, 1): length = 16
        case (1...2, _): throw .malformed("its connection is not TCP")
        default: throw .malformed("its address family \(family >> 4) is unknown")
        }
        guard let source = body.readSlice(length: length), body.readSlice(length: length) != nil,
            let (port, _) = body.readMultipleIntegers(as: (UInt16, UInt16).self)
        else { throw .malformed("it is too short for two addresses and two ports") }
        return try .client(packed: source, port: Int(port))
    }
}

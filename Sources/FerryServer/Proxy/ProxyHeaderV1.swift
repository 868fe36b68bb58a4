internal import FerryPlatform
internal import NIOCore

/// Version 1 of the PROXY protocol: a line of text.
///
/// ```
/// PROXY TCP4 198.51.100.7 203.0.113.1 56324 2195␍␊
/// PROXY TCP6 2001:db8::7 2001:db8::1 56324 2195␍␊
/// PROXY UNKNOWN␍␊                                       (the rest of such a line has no meaning)
/// ```
enum ProxyHeaderV1 {
    static let start = Array("PROXY ".utf8)
    /// The longest line with its CR LF, in bytes (section 2.1 of the specification).
    static let limit = 107

    static func read(_ bytes: inout ByteBuffer) throws(ProxyHeaderFault) -> ProxyHeader? {
        let given = bytes.readableBytesView.prefix(self.limit)
        guard given.starts(with: self.start.prefix(given.count)) else { throw .missing(isTLS: false) }
        guard let end = given.firstIndex(of: UInt8(ascii: "\n")) else {
            guard given.count < self.limit else { throw .tooLong(self.limit) }
            return nil
        }
        let line = given[..<end].dropFirst(self.start.count)
        guard line.last == UInt8(ascii: "\r") else { throw .malformed("its line does not end with CR and LF") }
        bytes.moveReaderIndex(to: end + 1)
        return try self.read(line: String(decoding: line.dropLast(), as: UTF8.self))
    }

    private static func read(line: String) throws(ProxyHeaderFault) -> ProxyHeader {
        let words = line.split(separator: " ", omittingEmptySubsequences: false)
        let length: Int
        switch words[0] {
        case "UNKNOWN": return .unnamed
        case "TCP4": length = 4
        case "TCP6": length = 16
        default: throw .malformed("its connection is neither TCP4, TCP6 nor UNKNOWN")
        }
        guard words.count == 5 else { throw .malformed("it does not have two addresses and two ports") }
        guard let source = IPNetwork.address(String(words[1])), source.count == length,
            IPNetwork.address(String(words[2]))?.count == length
        else { throw .malformed("an address in it is none of \(words[0])") }
        guard let port = self.port(words[3]), self.port(words[4]) != nil else {
            throw .malformed("a port in it is not a number from 0 to 65535")
        }
        return try .client(packed: ByteBuffer(bytes: source), port: port)
    }

    private static func port(_ text: Substring) -> Int? {
        guard text.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }) else { return nil }
        return UInt16(text).map(Int.init)
    }
}

extension ProxyHeader {
    /// - Parameter packed: the 4 or 16 bytes of an IP address.
    static func client(packed: ByteBuffer, port: Int) throws(ProxyHeaderFault) -> ProxyHeader {
        guard let address = try? SocketAddress(packedIPAddress: packed, port: port) else {
            throw .malformed("an address in it has \(packed.readableBytes) bytes")
        }
        return .client(address)
    }
}

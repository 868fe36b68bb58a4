@testable internal import FerryServer
internal import NIOCore
internal import Testing

@Suite struct ProxyHeaderTests {
    /// A header of version 2.
    static func version2(
        _ command: UInt8 = 0x21,
        _ family: UInt8 = 0x11,
        _ addresses: [UInt8] = [198, 51, 100, 7, 203, 0, 113, 1, 0xDC, 4, 8, 0x93],
        additions: [UInt8] = [],
        length: Int? = nil
    ) -> [UInt8] {
        let length = length ?? addresses.count + additions.count
        let head = [command, family, UInt8(length >> 8), UInt8(length & 0xFF)]
        return ProxyHeaderV2.signature + head + addresses + additions
    }

    private static let ipv6 = [0x20, 1, 0x0D, 0xB8] + [UInt8](repeating: 0, count: 11) + [7]
    static let client = "198.51.100.7"

    /// Headers, with the address of the client that each names.
    static let headers: [(bytes: [UInt8], client: String?)] = [
        (Array("PROXY TCP4 198.51.100.7 203.0.113.1 56324 2195\r\n".utf8), Self.client),
        (Array("PROXY TCP6 2001:db8::7 2001:db8::1 56324 2195\r\n".utf8), "2001:db8::7"),
        (Array("PROXY TCP6 ::ffff:198.51.100.7 ::1 0 65535\r\n".utf8), "::ffff:198.51.100.7"),
        (Array("PROXY UNKNOWN\r\n".utf8), nil),
        (Array("PROXY UNKNOWN ffff::1 what ever 1 2 3\r\n".utf8), nil),
        (Self.version2(), Self.client),
        (Self.version2(additions: [3, 0, 4, 1, 2, 3, 4]), Self.client),
        (Self.version2(additions: [UInt8](repeating: 0, count: 4096 - 28)), Self.client),
        (Self.version2(0x21, 0x21, Self.ipv6 + Self.ipv6 + [0xDC, 4, 8, 0x93]), "2001:db8::7"),
        (Self.version2(0x21, 0x00, []), nil),
        (Self.version2(0x21, 0x00, [1, 2, 3]), nil),
        (Self.version2(0x21, 0x31, [UInt8](repeating: 0, count: 216)), nil),
    ]

    @Test(arguments: Self.headers)
    func `a header names its client, and leaves the bytes behind it`(bytes: [UInt8], client: String?) throws {
        var buffer = ByteBuffer(bytes: bytes + [22, 3, 1])
        let header = try #require(try ProxyHeader.read(&buffer))
        switch header {
        case .client(let address): #expect(address.ipAddress == client && address.port != nil)
        case .unnamed: #expect(client == nil)
        case .own: Issue.record("It is the connection of a client.")
        }
        #expect(buffer == ByteBuffer(bytes: [22, 3, 1]))
    }

    @Test(arguments: Self.headers)
    func `a header in any two pieces, or byte by byte, is the same`(bytes: [UInt8], client: String?) throws {
        var whole = ByteBuffer(bytes: bytes)
        let header = try ProxyHeader.read(&whole)
        for cut in bytes.indices {
            var buffer = ByteBuffer(bytes: bytes[..<cut])
            #expect(try ProxyHeader.read(&buffer) == nil)
            #expect(buffer.readableBytes == cut, "A part of a header stays.")
            buffer.writeBytes(bytes[cut...])
            #expect(try ProxyHeader.read(&buffer) == header)
            #expect(buffer.readableBytes == 0)
        }
        var buffer = ByteBuffer()
        for byte in bytes.dropLast() {
            buffer.writeInteger(byte)
            #expect(try ProxyHeader.read(&buffer) == nil)
        }
    }

    @Test func `LOCAL is the proxy's own, whatever stands behind it`() throws {
        for (family, rest) in [(UInt8(0), [UInt8]()), (0x11, [UInt8](repeating: 0, count: 12)), (0xFF, [1])] {
            var buffer = ByteBuffer(bytes: Self.version2(0x20, family, rest))
            #expect(try ProxyHeader.read(&buffer) == .own)
            #expect(buffer.readableBytes == 0)
        }
    }

    private static func line(_ text: String) -> [UInt8] { Array("PROXY \(text)\r\n".utf8) }

    private static let noAddress = ProxyHeaderFault.malformed("an address in it is none of TCP4")
    private static let noConnection = ProxyHeaderFault.malformed("its connection is neither TCP4, TCP6 nor UNKNOWN")
    private static let noPort = ProxyHeaderFault.malformed("a port in it is not a number from 0 to 65535")
    private static let noLine = ProxyHeaderFault.malformed("its line does not end with CR and LF")

    static let faults: [([UInt8], ProxyHeaderFault)] = [
        ([22, 3, 1], .missing(isTLS: true)),
        (Array("GET / HTTP/1.1\r\n\r\n".utf8), .missing(isTLS: false)),
        (Array("PRoXY".utf8), .missing(isTLS: false)),
        ([0x0D, 0x0A, 0x0D, 0x0A, 0x01], .missing(isTLS: false)),
        (Array("PROXY TCP4 198.51.100.7 203.0.113.1 56324 2195\n".utf8), Self.noLine),
        (Self.line("UDP4 198.51.100.7 203.0.113.1 1 2"), Self.noConnection),
        (Self.line(""), Self.noConnection),
        (Self.line("TCP4 198.51.100.7 203.0.113.1 1"), .malformed("it does not have two addresses and two ports")),
        (Self.line("TCP4 198.51.100.7 203.0.113.1 1 2 "), .malformed("it does not have two addresses and two ports")),
        (Self.line("TCP4  198.51.100.7 203.0.113.1 1"), Self.noAddress),
        (Self.line("TCP4 2001:db8::7 2001:db8::1 1 2"), Self.noAddress),
        (Self.line("TCP6 198.51.100.7 203.0.113.1 1 2"), .malformed("an address in it is none of TCP6")),
        (Self.line("TCP4 198.51.100.7\0 203.0.113.1 1 2"), Self.noAddress),
        (Self.line("TCP4 198.51.100.7 shop.example 1 2"), Self.noAddress),
        (Self.line("TCP4 198.51.100.7 203.0.113.1 65536 2"), Self.noPort),
        (Self.line("TCP4 198.51.100.7 203.0.113.1 +1 2"), Self.noPort),
        (Self.line("TCP4 198.51.100.7 203.0.113.1 1 x"), Self.noPort),
        (Array("PROXY UNKNOWN ".utf8) + [UInt8](repeating: 0x20, count: 200), .tooLong(107)),
        (Self.version2(0x11), .malformed("its version is 1, and not 2")),
        (Self.version2(0x22), .malformed("its command is 2, which is neither LOCAL nor PROXY")),
        (Self.version2(0x21, 0x12), .malformed("its connection is not TCP")),
        (Self.version2(0x21, 0x41), .malformed("its address family 4 is unknown")),
        (Self.version2(0x21, 0x21), .malformed("it is too short for two addresses and two ports")),
        (Self.version2(0x21, 0x11, [1, 2, 3]), .malformed("it is too short for two addresses and two ports")),
        (Self.version2(length: 4096 - 15), .tooLong(4096)),
        (Self.version2(length: 65_535), .tooLong(4096)),
    ]

    @Test(arguments: Self.faults)
    func `what is no header is a fault, in any pieces`(bytes: [UInt8], fault: ProxyHeaderFault) {
        #expect(throws: fault) {
            var buffer = ByteBuffer(bytes: bytes)
            _ = try ProxyHeader.read(&buffer)
        }
        #expect(throws: fault) {
            var buffer = ByteBuffer()
            for byte in bytes {
                buffer.writeInteger(byte)
                let header = try ProxyHeader.read(&buffer)
                #expect(header == nil)
            }
        }
    }

    @Test func `a line of 107 bytes is the longest`() throws {
        var longest = ByteBuffer(string: "PROXY UNKNOWN \(String(repeating: "x", count: 107 - 16))\r\n")
        #expect(longest.readableBytes == 107)
        #expect(try ProxyHeader.read(&longest) == .unnamed)
        #expect(throws: ProxyHeaderFault.tooLong(107)) {
            var longer = ByteBuffer(string: "PROXY UNKNOWN \(String(repeating: "x", count: 107 - 15))\r\n")
            _ = try ProxyHeader.read(&longer)
        }
    }
}

package import NIOCore

/// The answer of an HTTP/1.1 proxy to CONNECT, parsed as its bytes arrive.
///
/// Only the status counts. A length in an answer of status 2xx "MUST" be ignored (RFC 9110, 9.3.6), because the bytes
/// after the empty line belong to the tunnel. NIOHTTP1 would parse those bytes as another answer.
package struct ProxyAnswer {
    /// The result of the bytes so far.
    package enum Result: Equatable {
        case needMore
        /// The tunnel is open. The buffer holds its first bytes.
        case established(ByteBuffer)
        /// The proxy refused the tunnel.
        case refused(status: Int)
        /// The bytes are not an answer of HTTP/1.x.
        case notHTTP
        /// The heads are longer than ``headLimit``.
        case tooLong
    }

    /// The limit for the bytes of all heads together: the interim answers (1xx) and the final answer.
    package static let headLimit = 16 << 10
    private static let prefix = Array("HTTP/1.".utf8)
    /// The length of `HTTP/1.1 200` and the byte after it. The reason phrase behind that byte may be empty.
    private static let statusLength = 13

    private var bytes = ByteBuffer()
    /// The number of bytes of the heads that were parsed and removed.
    private var dropped = 0
    /// The length of the prefix of `bytes` that was searched and does not contain the end of the head.
    private var scanned = 0

    package init() {}

    /// Adds bytes. Call it again only while the result is `needMore`.
    package mutating func append(_ more: ByteBuffer) -> Result {
        self.bytes.writeImmutableBuffer(more)
        while true {
            guard let status = self.status else { return .notHTTP }
            guard status > 0 else { return .needMore }
            guard 100..<300 ~= status, status != 101 else { return .refused(status: status) }
            guard let length = self.headLength else {
                return self.dropped + self.bytes.readableBytes > Self.headLimit ? .tooLong : .needMore
            }
            self.bytes.moveReaderIndex(forwardBy: length)
            self.dropped += length
            self.scanned = 0
            if self.dropped > Self.headLimit { return .tooLong }
            if status >= 200 { return .established(self.bytes.slice()) }
        }
    }

    /// The status; 0 while it is incomplete, and nil if the bytes cannot be a status line.
    private var status: Int? {
        let view = self.bytes.readableBytesView
        guard view.starts(with: Self.prefix.prefix(view.count)) else { return nil }
        var status = 0
        for (index, byte) in view.prefix(Self.statusLength).enumerated().dropFirst(Self.prefix.count) {
            switch (index, byte) {
            case (7, UInt8(ascii: "0")...UInt8(ascii: "9")), (8, UInt8(ascii: " ")):
                break
            case (9, UInt8(ascii: "1")...UInt8(ascii: "9")), (10...11, UInt8(ascii: "0")...UInt8(ascii: "9")):
                status = status * 10 + Int(byte - UInt8(ascii: "0"))
            case (12, UInt8(ascii: " ")), (12, UInt8(ascii: "\r")), (12, UInt8(ascii: "\n")):
                break
            default:
                return nil
            }
        }
        return view.count < Self.statusLength ? 0 : status
    }

    /// The length of the head with its empty line; nil while the head is incomplete. Lines end with LF or CR LF.
    private var headLength: Int? {
        mutating get {
            let view = self.bytes.readableBytesView
            var index = view.startIndex + self.scanned
            while let newline = view[index...].firstIndex(of: UInt8(ascii: "\n")) {
                var next = newline + 1
                if next < view.endIndex, view[next] == UInt8(ascii: "\r") { next += 1 }
                guard next < view.endIndex else { break }
                if view[next] == UInt8(ascii: "\n") { return next + 1 - view.startIndex }
                index = newline + 1
            }
            self.scanned = index - view.startIndex
            return nil
        }
    }
}

package import NIOCore

/// What a peer speaks that is no gateway of the binary protocol, as far as its first bytes tell. The cause of an error.
package enum ForeignProtocol: Error, Hashable, Sendable, CustomStringConvertible {
    /// An answer of HTTP/1.x: "HTTP/1." (RFC 9112, 4). So servers of HTTP/2 answer a client that did not ask for it.
    case http1
    /// SETTINGS, with which a server of HTTP/2 begins (RFC 9113, 3.4):
    ///
    /// ```
    /// u24 length | 04 | 00 | u32 0
    /// ```
    case http2

    private static let http1Prefix = "HTTP/1."
    /// Bytes of one setting (RFC 9113, 6.5.1).
    private static let settingLength: UInt32 = 6
    /// Type, flags and stream of a frame of SETTINGS that is no acknowledgement.
    private static let settings: (type: UInt32, flags: UInt8, stream: UInt32) = (4, 0, 0)

    /// - Parameter bytes: the first of a connection. Nil when they are too few, or tell nothing.
    package init?(_ bytes: ByteBuffer) {
        var bytes = bytes
        if bytes.getString(at: bytes.readerIndex, length: Self.http1Prefix.utf8.count) == Self.http1Prefix {
            self = .http1
        } else if let (head, flags, stream) = bytes.readMultipleIntegers(as: (UInt32, UInt8, UInt32).self),
            head & 0xff == Self.settings.type, (head >> 8).isMultiple(of: Self.settingLength),
            flags == Self.settings.flags, stream == Self.settings.stream
        {
            self = .http2
        } else {
            return nil
        }
    }

    package var description: String {
        switch self {
        case .http1: "HTTP/1"
        case .http2: "HTTP/2"
        }
    }
}

package import NIOCore

/// The protocol of a peer that is no gateway, as far as its first bytes tell. Used as the cause of an error.
package enum ForeignProtocol: Error, Hashable, Sendable, CustomStringConvertible {
    /// A response of HTTP/1.x: "HTTP/1." (RFC 9112, 4). Servers of HTTP/2 send it, too, to a client that did not ask
    /// for HTTP/2.
    case http1
    /// SETTINGS, with which a server of HTTP/2 begins (RFC 9113, 3.4):
    ///
    /// ```
    /// u24 length | 04 | 00 | u32 0
    /// ```
    case http2

    /// How many bytes decide it: the header of a frame of HTTP/2.
    static let decisiveLength = 9
    private static let http1Prefix = "HTTP/1."
    /// The length of one setting in bytes (RFC 9113, 6.5.1).
    private static let settingLength: UInt32 = 6
    /// The type, flags and stream of a SETTINGS frame that is no acknowledgement.
    private static let settings: (type: UInt32, flags: UInt8, stream: UInt32) = (4, 0, 0)

    /// - Parameter bytes: the first bytes of a connection. The result is nil when they are too few or match nothing.
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

package import NIOCore

/// The protocol of a peer that is not a gateway, as far as its first bytes show. It is the cause of an error.
package enum ForeignProtocol: Error, Hashable, Sendable, CustomStringConvertible {
    /// A response of HTTP/1.x: "HTTP/1." (RFC 9112, 4). Servers of HTTP/2 send it if a client did not ask for HTTP/2.
    case http1
    /// SETTINGS, with which a server of HTTP/2 begins (RFC 9113, 3.4):
    ///
    /// ```
    /// u24 length | 04 | 00 | u32 0
    /// ```
    case http2
    /// A feedback tuple, with which a feedback service begins. Only a client of a gateway takes it for foreign.
    case feedback

    /// The number of bytes that decide it: the header of a frame of HTTP/2.
    static let decisiveLength = 9
    private static let http1Prefix = "HTTP/1."
    /// The length of one setting in bytes (RFC 9113, 6.5.1).
    private static let settingLength: UInt32 = 6
    /// The type, flags and stream of a SETTINGS frame that is not an acknowledgement.
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

    /// Creates the protocol of a peer that should be a gateway.
    ///
    /// - Parameter bytes: the first bytes of a connection. The result is nil when they are too few or match nothing.
    init?(ofGateway bytes: ByteBuffer) {
        if let foreign = ForeignProtocol(bytes) {
            self = foreign
        } else if Self.isFeedback(bytes) {
            self = .feedback
        } else {
            return nil
        }
    }

    /// Whether the bytes begin with a whole feedback tuple. A token of another length, or a time before APNs, is no
    /// proof. With a weaker rule, other peers would end the queue.
    private static func isFeedback(_ bytes: ByteBuffer) -> Bool {
        var bytes = bytes
        guard let (time, length) = bytes.readMultipleIntegers(as: (UInt32, UInt16).self) else { return false }
        return time >= self.firstFeedback && length == self.tokenLength && bytes.readableBytes >= Int(length)
    }

    /// The earliest time of a tuple: 2009-01-01. APNs and its feedback service are a little younger.
    private static let firstFeedback: UInt32 = 1_230_768_000
    /// The length of the device tokens that Apple's feedback service sent.
    private static let tokenLength: UInt16 = 32
    /// The advice in the message about a feedback service.
    package static let readAsFeedback = "read it with FeedbackReader"

    package var description: String {
        switch self {
        case .http1: "HTTP/1"
        case .http2: "HTTP/2"
        case .feedback: "the feedback protocol"
        }
    }

    /// The advice about a peer that should be a gateway.
    var advice: String {
        switch self {
        case .http1, .http2: Self.adviceForOthers
        case .feedback:
            "It is a feedback service: \(Self.readAsFeedback), and send to the port of the gateway, which is usually 2195."
        }
    }

    /// The advice about a peer that should be a gateway, if its protocol is unknown.
    static let adviceForOthers =
        "Check that host and port are those of a binary gateway, and not of APNs over HTTP/2."
}

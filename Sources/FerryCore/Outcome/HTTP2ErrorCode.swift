/// The error code of RST_STREAM and GOAWAY: the reason why a stream or a connection of HTTP/2 was ended.
///
/// Open: a code that is not in the RFC is kept as it came.
///
/// Source: RFC 9113, section 7.
public struct HTTP2ErrorCode: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    /// The number on the wire.
    public var rawValue: UInt32

    /// Any number is a code.
    public init(rawValue: UInt32) {
        self.rawValue = rawValue
    }

    /// No error: the peer closes in an orderly way.
    public static let noError = HTTP2ErrorCode(rawValue: 0x00)
    /// The peer found an unspecific breach of the protocol.
    public static let protocolError = HTTP2ErrorCode(rawValue: 0x01)
    /// The peer failed internally.
    public static let internalError = HTTP2ErrorCode(rawValue: 0x02)
    /// The peer found a breach of flow control.
    public static let flowControlError = HTTP2ErrorCode(rawValue: 0x03)
    /// The peer waited too long for an acknowledgement of its settings.
    public static let settingsTimeout = HTTP2ErrorCode(rawValue: 0x04)
    /// The peer got a frame for a stream that was half-closed.
    public static let streamClosed = HTTP2ErrorCode(rawValue: 0x05)
    /// The peer got a frame of an invalid size.
    public static let frameSizeError = HTTP2ErrorCode(rawValue: 0x06)
    /// The peer refused the stream before doing anything with it.
    public static let refusedStream = HTTP2ErrorCode(rawValue: 0x07)
    /// The peer no longer needs the stream.
    public static let cancel = HTTP2ErrorCode(rawValue: 0x08)
    /// The peer lost the state of header compression.
    public static let compressionError = HTTP2ErrorCode(rawValue: 0x09)
    /// The connection that a CONNECT asked for was reset.
    public static let connectError = HTTP2ErrorCode(rawValue: 0x0a)
    /// The peer was given too much to do.
    public static let enhanceYourCalm = HTTP2ErrorCode(rawValue: 0x0b)
    /// The TLS of the connection is below what HTTP/2 requires.
    public static let inadequateSecurity = HTTP2ErrorCode(rawValue: 0x0c)
    /// The peer wants HTTP/1.1.
    public static let http11Required = HTTP2ErrorCode(rawValue: 0x0d)

    /// The name in the RFC; nil for a code that is not in the RFC.
    public var name: String? { Self.known.first { $0.code == self }?.name }

    /// The meaning in a few words; nil for a code that is not in the RFC.
    package var meaning: String? { Self.known.first { $0.code == self }?.meaning }

    /// The name and the number, "INTERNAL_ERROR (2)". For a code that is not in the RFC, only the number:
    /// "error code 31".
    public var description: String {
        self.name.map { "\($0) (\(self.rawValue))" } ?? "error code \(self.rawValue)"
    }

    /// Every code of the RFC, in its order.
    package static let known: [(code: HTTP2ErrorCode, name: String, meaning: String)] = [
        (.noError, "NO_ERROR", "no error: the peer closes in an orderly way"),
        (.protocolError, "PROTOCOL_ERROR", "the peer found an unspecific breach of the protocol"),
        (.internalError, "INTERNAL_ERROR", "the peer failed internally"),
        (.flowControlError, "FLOW_CONTROL_ERROR", "the peer found a breach of flow control"),
        (.settingsTimeout, "SETTINGS_TIMEOUT", "the peer waited too long for an acknowledgement of its settings"),
        (.streamClosed, "STREAM_CLOSED", "the peer got a frame for a stream that was half-closed"),
        (.frameSizeError, "FRAME_SIZE_ERROR", "the peer got a frame of an invalid size"),
        (.refusedStream, "REFUSED_STREAM", "the peer refused the stream before doing anything with it"),
        (.cancel, "CANCEL", "the peer no longer needs the stream"),
        (.compressionError, "COMPRESSION_ERROR", "the peer lost the state of header compression"),
        (.connectError, "CONNECT_ERROR", "the connection that a CONNECT asked for was reset"),
        (.enhanceYourCalm, "ENHANCE_YOUR_CALM", "the peer was given too much to do"),
        (.inadequateSecurity, "INADEQUATE_SECURITY", "the TLS of the connection is below what HTTP/2 requires"),
        (.http11Required, "HTTP_1_1_REQUIRED", "the peer wants HTTP/1.1"),
    ]
}

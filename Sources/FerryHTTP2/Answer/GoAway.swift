package import FerryCore

/// A peer's GOAWAY: the frame with which it begins to close a connection.
///
/// APNs puts the JSON of a failed request into the debug data ("The JSON data might also be included in a GOAWAY frame
/// when a connection terminates", Apple). Other debug data gives no reason and is not kept.
///
/// The last stream that the frame names is not kept. libnghttp2 ends the streams above it with REFUSED_STREAM, and
/// ``RequestStreams`` returns their requests as refused.
///
/// Source: RFC 9113, section 6.8.
package struct GoAway: Hashable, Sendable, CustomStringConvertible {
    package var errorCode: HTTP2ErrorCode
    /// The reason in the debug data, even if Ferry does not know it.
    package var reason: Reason?

    /// - Parameter debugData: read during the call.
    package init(errorCode: HTTP2ErrorCode, debugData: UnsafeBufferPointer<UInt8>) {
        self.errorCode = errorCode
        self.reason = AnswerBody(debugData).reason
    }

    /// The cause in a few words, for an error or a log: `NO_ERROR, Shutdown`.
    package var description: String {
        let code = self.errorCode.name ?? "\(self.errorCode)"
        guard let reason = self.reason else { return code }
        return "\(code), \(reason)"
    }
}

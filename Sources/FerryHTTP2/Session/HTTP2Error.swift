/// An error of an HTTP/2 session: it cannot continue, or it refused a call.
package struct HTTP2Error: Error, Hashable, Sendable, CustomStringConvertible {
    package enum Code: Hashable, Sendable {
        /// The peer broke the protocol.
        case protocolViolation
        /// No more requests are possible on this connection: a GOAWAY came or was sent, or the stream identifiers are
        /// used up.
        case noMoreStreams
        /// The stream is closed.
        case streamClosed
        /// Memory is exhausted, or the library was used incorrectly.
        case internalFailure
    }

    package var code: Code
    /// One sentence in libnghttp2's words.
    package var description: String

    package init(_ code: Code, _ description: String) {
        self.code = code
        self.description = description
    }
}

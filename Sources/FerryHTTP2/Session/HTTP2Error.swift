/// Why a session of HTTP/2 cannot go on, or would not do what it was asked for.
package struct HTTP2Error: Error, Hashable, Sendable, CustomStringConvertible {
    package enum Code: Hashable, Sendable {
        /// The peer broke the protocol.
        case protocolViolation
        /// No more requests can be made on this connection: GOAWAY came or went, or the stream identifiers are used up.
        case noMoreStreams
        /// The stream is closed.
        case streamClosed
        /// Memory ran out, or the library was used wrongly.
        case internalFailure
    }

    package var code: Code
    /// One sentence, in libnghttp2's words.
    package var description: String

    package init(_ code: Code, _ description: String) {
        self.code = code
        self.description = description
    }
}

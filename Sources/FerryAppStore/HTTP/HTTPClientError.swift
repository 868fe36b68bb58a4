/// Why a request has no answer. Two errors are the same fault if their ``code`` is the same.
///
/// The description names the host and what happened, and nothing of path, headers or body.
package struct HTTPClientError: Error, Sendable, CustomStringConvertible {
    package let code: Code
    package let description: String
    /// Whether bytes of the request may have reached the server.
    package let wasSent: Bool
    package let cause: (any Error)?

    package struct Code: Hashable, Sendable, CustomStringConvertible {
        private enum Kind: String {
            case invalidRequest, connectFailed, peerNotTrusted, timedOut, connectionLost, answerCut, answerTooLong
            case malformedAnswer, cancelled
        }

        private let kind: Kind

        package var description: String { self.kind.rawValue }

        /// The request cannot be written as HTTP.
        package static let invalidRequest = Self(kind: .invalidRequest)
        /// There is no connection: the name, the port or TLS.
        package static let connectFailed = Self(kind: .connectFailed)
        /// The server's certificate is not trusted, or is for another name.
        package static let peerNotTrusted = Self(kind: .peerNotTrusted)
        /// The time ran out, at any stage.
        package static let timedOut = Self(kind: .timedOut)
        /// The connection ended before the answer began.
        package static let connectionLost = Self(kind: .connectionLost)
        /// The connection ended within the answer.
        package static let answerCut = Self(kind: .answerCut)
        /// The body of the answer is longer than the request allows.
        package static let answerTooLong = Self(kind: .answerTooLong)
        /// The answer is not HTTP/1.1.
        package static let malformedAnswer = Self(kind: .malformedAnswer)
        /// The task was cancelled.
        package static let cancelled = Self(kind: .cancelled)
    }
}

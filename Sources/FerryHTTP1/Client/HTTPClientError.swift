internal import FerryProxy

/// The reason why a request has no answer. The ``code`` is enough to tell the kinds of fault apart.
///
/// The description names the fault, and the server or the proxy. It has nothing of the URL's path, the headers or the
/// body.
package struct HTTPClientError: Error, Sendable, CustomStringConvertible {
    package let fault: HTTPFault
    private let origin: HTTPURL.Origin
    private let proxy: HTTPProxy?
    /// Whether bytes of the request may have reached the server.
    package let wasSent: Bool

    init(_ fault: HTTPFault, _ origin: HTTPURL.Origin, through proxy: HTTPProxy?, wasSent: Bool) {
        self.fault = fault
        self.origin = origin
        self.proxy = proxy
        self.wasSent = wasSent
    }

    package var code: Code { self.fault.code }
    package var description: String { self.fault.sentence(self.origin.inWords, through: self.proxy) }

    package enum Code: Sendable {
        /// The request cannot be written as HTTP.
        case invalidRequest
        /// No connection was made. The cause is the name, the port, the proxy or TLS.
        case connectFailed
        /// The server's certificate is missing, is not trusted, or is for another name.
        case peerNotTrusted
        /// The time ran out, at any stage.
        case timedOut
        /// The connection ended before the answer began.
        case connectionLost
        /// The connection ended within the answer.
        case answerCut
        /// The body of the answer is longer than the request allows.
        case answerTooLong
        /// The answer is not HTTP/1.1.
        case malformedAnswer
        /// The task was cancelled.
        case cancelled
    }
}

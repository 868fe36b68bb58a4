internal import FerryCore
package import FerryOpenSSL
internal import FerryPlatform
package import FerryProxy
internal import NIOCore
internal import NIOPosix

/// The reason why a request has no answer. ``sentence(_:through:)`` adds the host and the proxy.
package enum HTTPFault: Sendable {
    /// The progress of a request when its time ran out.
    package enum Stage: Sendable {
        case connecting
        /// The client waits for the answer of the proxy.
        case asking
        case shaking, waiting, receiving
    }

    case invalidRequest(String)
    case unresolved
    /// There is no connection. The error comes from the system, or from the preparation of TLS.
    case unconnected(any Error)
    /// The connection ended before TCP, or TLS, was established. Nil: no error was reported.
    case closedEarly((any Error)?)
    case tls(TLSError)
    /// The proxy opened no tunnel.
    case proxy(ProxyError)
    case silent(Stage)
    /// The connection ended before the answer began. `isSent` says whether the whole request was written. The error
    /// is that of the connection; nil if it ended without an error.
    case lost(isSent: Bool, (any Error)?)
    /// The connection ended within the answer.
    case cut
    case tooLong(limit: Int)
    case malformed
    case cancelled

    /// The fault that an attempt to connect failed with.
    init(connecting error: any Error) {
        if let error = error as? NIOConnectionError {
            if let first = error.connectionErrors.first {
                self.init(connecting: first.error)
            } else {
                self = .unresolved
            }
        } else if case .connectTimeout = error as? ChannelError {
            self = .silent(.connecting)
        } else {
            self = .unconnected(error)
        }
    }

    var code: HTTPClientError.Code {
        switch self {
        case .invalidRequest: .invalidRequest
        case .unresolved, .unconnected, .closedEarly, .proxy: .connectFailed
        case .tls(let error):
            switch error.code {
            case .untrustedPeer, .peerNameMismatch, .peerCertificateMissing: .peerNotTrusted
            case .handshakeTimeout: .timedOut
            default: .connectFailed
            }
        case .silent: .timedOut
        case .lost: .connectionLost
        case .cut: .answerCut
        case .tooLong: .answerTooLong
        case .malformed: .malformedAnswer
        case .cancelled: .cancelled
        }
    }

    /// The fault in words.
    ///
    /// - Parameters:
    ///   - server: host and port of the server, or the path of its socket.
    ///   - proxy: the proxy in front of the server; nil without a proxy.
    func sentence(_ server: String, through proxy: HTTPProxy? = nil) -> String {
        let host = proxy.map { "\(server) (through the proxy \($0))" } ?? server
        // The machine that takes the TCP connection.
        let next = proxy.map { "the proxy \($0)" } ?? server
        let start = proxy.map { "The proxy \($0)" } ?? server
        return switch self {
        case .invalidRequest(let reason): "The request to \(host) was not sent: \(reason)."
        case .unresolved:
            "No connection to \(next): the host name cannot be resolved. Check its spelling, and this machine's DNS."
        case .unconnected(let error as IOError):
            "No connection to \(next): \(String(cString: strerror(error.errnoCode)))."
        case .unconnected: "No connection to \(next)."
        case .closedEarly(let error as IOError):
            "No connection to \(host): \(String(cString: strerror(error.errnoCode)))."
        case .closedEarly(.some): "No connection to \(host)."
        case .closedEarly(nil) where proxy != nil:
            // Either the proxy or the server has ended the tunnel. The client cannot know which: in both cases, the
            // proxy just closes the connection.
            "The tunnel to \(host) ended before TLS was established: the proxy or the server behind it closed it."
        case .closedEarly(nil): "\(host) closed the connection before it was established."
        case .tls(let error) where error.code == .endOfStreamInHandshake && proxy != nil:
            Self.closedEarly(nil).sentence(server, through: proxy)
        case .tls(let error): "No TLS connection to \(host): \(error.description)"
        case .proxy(let error): error.description
        case .silent(.connecting): "\(start) did not take a connection in time."
        case .silent(.asking): "\(start) took the connection, and did not answer in time."
        case .silent(.shaking): "\(host) took the connection, and did not complete the TLS handshake in time."
        case .silent(.waiting): "\(host) took the request, and did not answer in time."
        case .silent(.receiving): "\(host) did not complete its answer in time."
        case .lost: "\(host) closed the connection without an answer."
        case .cut: "\(host) closed the connection within its answer."
        case .tooLong(let limit): "The answer of \(host) is longer than \(limit) bytes."
        case .malformed: "The answer of \(host) is not HTTP/1.1."
        case .cancelled: "The request to \(host) was cancelled."
        }
    }
}

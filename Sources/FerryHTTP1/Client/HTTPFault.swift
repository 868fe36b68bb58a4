internal import FerryCore
package import FerryOpenSSL
internal import FerryPlatform
internal import NIOCore
internal import NIOPosix

/// What went wrong with a request, before it is put into words for a host.
package enum HTTPFault: Sendable {
    /// How far a request was when its time ran out.
    package enum Stage: Sendable {
        case connecting, shaking, waiting, receiving
    }

    case invalidRequest(String)
    case unresolved
    /// No connection, with the system's words.
    case unconnected(any Error)
    /// The connection ended before TLS was established, with the system's words if it has some.
    case closedEarly((any Error)?)
    case tls(TLSError)
    case silent(Stage)
    /// The connection ended before the answer began, with the system's words if it has some. `isSent`: the whole request was
    /// written.
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
        case .unresolved, .unconnected, .closedEarly: .connectFailed
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
    func sentence(_ host: String) -> String {
        switch self {
        case .invalidRequest(let reason): "The request to \(host) was not sent: \(reason)."
        case .unresolved:
            "No connection to \(host): the host name cannot be resolved. Check its spelling, and this machine's DNS."
        case .unconnected(let error as IOError), .closedEarly(let error as IOError):
            "No connection to \(host): \(String(cString: strerror(error.errnoCode)))."
        case .unconnected, .closedEarly(.some): "No connection to \(host)."
        case .closedEarly(nil): "\(host) closed the connection before it was established."
        case .tls(let error): "No TLS connection to \(host): \(error.description)"
        case .silent(.connecting): "\(host) did not take a connection in time."
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

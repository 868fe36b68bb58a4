internal import FerryHTTP1
internal import FerryOpenSSL
internal import NIOHTTP1

extension SendAttemptResult {
    /// Apple's word for a post without an answer.
    init(_ fault: HTTPFault, isSecure: Bool) {
        self =
            switch fault {
            case .tls, .silent(.shaking): .tlsIssue
            case .silent: .timedOut
            case .closedEarly: isSecure ? .tlsIssue : .socketIssue
            case .unresolved, .unconnected, .proxy: .socketIssue
            case .cut, .lost(_, is HTTPParserError): .prematureClose
            case .lost(let isSent, nil), .lost(let isSent, is TLSError): isSent ? .noResponse : .prematureClose
            case .lost: .socketIssue
            case .malformed: .invalidResponse
            case .invalidRequest, .tooLong, .cancelled: .other
            }
    }
}

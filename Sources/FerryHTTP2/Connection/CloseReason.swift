internal import FerryCore

/// The last statement of a peer about a connection, or about requests that it did not answer.
enum CloseReason {
    case nothing
    case goAway(GoAway)
    case reset(HTTP2ErrorCode)
    case answer(Reason)
    /// The peer broke the protocol.
    case violation

    /// Returns the reason that the peer gave for the end of the connection; nil if it gave none.
    func error(peer: String) -> ProviderError? {
        switch self {
        case .goAway(let goAway):
            ProviderError(.connectionLost, "\(peer) closes the connection: \(goAway).")
        case .reset(let errorCode):
            ProviderError(.connectionLost, "\(peer) reset a request on the last, and closed it: \(errorCode).")
        case .answer(let reason):
            ProviderError(.connectionLost, "\(peer) answered \(reason) on the last, and closed it.")
        case .violation: .violation(peer: peer, nil)
        case .nothing: nil
        }
    }
}

extension ProviderError {
    /// Returns the error for a peer that broke the protocol.
    ///
    /// - Parameter detail: the rule that it broke, if known.
    static func violation(peer: String, _ detail: HTTP2Error?) -> ProviderError {
        let detail = detail.map { ": \($0)" } ?? "."
        return ProviderError(.protocolViolation, "\(peer) does not speak HTTP/2 correctly\(detail)")
    }

    /// Returns the error for a peer that did not answer a PING.
    static func unansweredPing(peer: String) -> ProviderError {
        ProviderError(.connectionLost, "\(peer) did not answer a PING in time: the connection is dead.")
    }
}

package import FerryCore

/// The end of a connection, or the reason why there was no connection.
package enum ConnectionEnd: Sendable {
    /// The peer closed, with or without close_notify.
    case endOfStream
    /// The connection failed after it was established.
    case lost(ProviderError)
    /// The connection was never established.
    case notConnected(ProviderError)
    /// The peer refused the credentials before any other answer.
    case credentialsRejected(ProviderError)

    /// The error; nil for ``endOfStream``.
    package var error: ProviderError? {
        switch self {
        case .endOfStream: nil
        case .lost(let error), .notConnected(let error), .credentialsRejected(let error): error
        }
    }
}

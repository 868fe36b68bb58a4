package import FerryCore

/// How a connection ended, or why there is none.
package enum ConnectionEnd: Sendable {
    /// The peer closed, with or without close_notify.
    case endOfStream
    /// It failed after it was established.
    case lost(ProviderError)
    /// It was never established.
    case notConnected(ProviderError)
    /// The peer refused the credentials before it said anything else.
    case credentialsRejected(ProviderError)
}

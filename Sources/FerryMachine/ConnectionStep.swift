package import FerryCore

/// An order of a machine to the owner of its connections.
package enum ConnectionStep: Sendable, Equatable {
    /// Connect, including TLS. Then call `connected` or `ended`.
    case dial(ConnectionID)
    /// Close at once and drop the bytes that were not sent. Do not call `ended`.
    case close(ConnectionID)
    /// Close in an orderly way after the written bytes: only the output, while reading goes on, or everything. Then
    /// call `ended`.
    case finish(ConnectionID)
    /// Ask the operating system about the connection. Then call `sampled`.
    case sample(ConnectionID)
    /// Tell the source of provider tokens that APNs refused this token for this reason.
    case refused(Reason, ProviderToken)
}

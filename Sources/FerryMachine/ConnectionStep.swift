package import FerryCore

/// An order of a machine to the owner of its connections.
package enum ConnectionStep: Sendable, Equatable {
    /// Connect, including TLS. Then call `connected` or `ended`.
    case dial(ConnectionID)
    /// Close at once, and drop the unsent bytes. Do not call `ended`.
    case close(ConnectionID)
    /// Close in an orderly way after the written bytes: either both directions, or only the output while reading
    /// continues. Then call `ended`.
    case finish(ConnectionID)
    /// Ask the operating system about the connection. Then call `sampled`.
    case sample(ConnectionID)
    /// Tell the source of provider tokens that APNs refused this token for this reason.
    case refused(Reason, ProviderToken)
}

package import FerryCore

/// What a machine wants done for its connections.
package enum ConnectionStep: Sendable, Equatable {
    /// Connect, TLS included; then say `connected` or `ended`.
    case dial(ConnectionID)
    /// Close at once and drop what was not sent. No `ended` is expected.
    case close(ConnectionID)
    /// Close in an orderly way after what was written: the output, and on with reading, or everything. `ended` follows.
    case finish(ConnectionID)
    /// Ask the operating system, then say `sampled`.
    case sample(ConnectionID)
    /// Tell the maker of provider tokens that APNs refused this one for that reason.
    case refused(Reason, ProviderToken)
}

package import NIOCore

/// By what right a request may be written now.
package enum Authorization: Sendable, Equatable {
    /// The connection's certificate speaks for the provider: requests carry no `authorization`.
    case certificate
    /// Requests carry this token.
    case token(ProviderToken)
    /// There is no token that may be used; ask again at this time.
    case held(until: NIODeadline)
}

package import NIOCore

/// The permission to write a request now, or the time to ask again.
package enum Authorization: Sendable, Equatable {
    /// The connection's certificate authorises the provider. Requests carry no `authorization`.
    case certificate
    /// Requests carry this token.
    case token(ProviderToken)
    /// No token may be used now. Ask again at this time.
    case held(until: NIODeadline)
    /// A token is on its way, and nothing is wrong. Ask again at this time.
    case awaited(until: NIODeadline)

    /// The time to ask again; nil if a request may be written.
    package var asksAgainAt: NIODeadline? {
        switch self {
        case .certificate, .token: nil
        case .held(let until), .awaited(let until): until
        }
    }
}

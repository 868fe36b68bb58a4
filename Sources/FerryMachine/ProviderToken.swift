/// A provider token as requests carry it, with its number at its source.
///
/// No description shows the token.
package struct ProviderToken: Sendable, Equatable {
    /// The origin of a token.
    package enum Origin: Sendable {
        /// Ferry signed it.
        case signed
        /// Another program made it, and may replace it at any time.
        case given
    }

    /// The number of the token at its source, from 1. An answer to an older token says nothing about a newer one.
    package var generation: UInt64
    /// The number of the signing key at its source, from 1. A connection is bound to the key of its first token.
    package var key: UInt64
    /// The value of `authorization`: `bearer`, a space and the token.
    package var headerValue: [UInt8]
    package var origin: Origin

    package init(generation: UInt64, key: UInt64 = 1, headerValue: [UInt8], origin: Origin = .signed) {
        self.generation = generation
        self.key = key
        self.headerValue = headerValue
        self.origin = origin
    }
}

extension ProviderToken: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    package var description: String { "provider token \(self.generation)" }

    package var debugDescription: String { self.description }

    package var customMirror: Mirror { Mirror(self, children: ["generation": self.generation]) }
}

/// A provider token as requests carry it, and which of its source's tokens it is.
///
/// No description of it shows the token.
package struct ProviderToken: Sendable, Equatable {
    /// Where a token comes from.
    package enum Origin: Sendable {
        /// Ferry signed it.
        case signed
        /// Another program made it, and may have another one at any time.
        case given
    }

    /// Which token of its source this is, from 1. What is said of an older token is no news of a newer one.
    package var generation: UInt64
    /// Which key of its source signed it, from 1. A connection is bound to the key of its first token.
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

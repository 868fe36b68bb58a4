/// A provider token as requests carry it, and which of its source's tokens it is.
///
/// No description of it shows the token.
package struct ProviderToken: Sendable, Equatable {
    /// Which token of its source this is, from 1. What is said of an older token is no news of a newer one.
    package var generation: UInt64
    /// Which key of its source signed it, from 1. A connection is bound to the key of its first token.
    package var key: UInt64
    /// The value of `authorization`: `bearer`, a space and the token.
    package var headerValue: [UInt8]

    package init(generation: UInt64, key: UInt64 = 1, headerValue: [UInt8]) {
        self.generation = generation
        self.key = key
        self.headerValue = headerValue
    }
}

extension ProviderToken: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    package var description: String { "provider token \(self.generation)" }

    package var debugDescription: String { self.description }

    package var customMirror: Mirror { Mirror(self, children: ["generation": self.generation]) }
}

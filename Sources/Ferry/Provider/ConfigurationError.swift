/// A provider, feedback reader, channel manager or source of tokens cannot be made as it is configured.
public struct ConfigurationError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The kind of the fault.
    public let code: Code
    /// The fault and its remedy. It contains no key, token or password.
    public let description: String

    package init(_ code: Code, _ description: String) {
        self.code = code
        self.description = description
    }

    /// The kind of fault. Open: later versions may add codes.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        private enum Kind: String {
            case wrongService, wrongEnvironment, malformedHost, invalidPort, invalidProxy, malformedIdentifier,
                keyNotHere, malformedBundleID, tokenFileUnusable
        }

        private let kind: Kind

        /// The code's name.
        public var description: String { self.kind.rawValue }

        /// The host is one of Apple's that this client cannot use: Apple switched it off in 2021, or it speaks the other
        /// protocol.
        public static let wrongService = Self(kind: .wrongService)
        /// The certificate is for the other environment than Apple's host.
        public static let wrongEnvironment = Self(kind: .wrongEnvironment)
        /// The host, or that of the proxy, is empty, or holds white space, a slash, a user or a port, as a URL does.
        public static let malformedHost = Self(kind: .malformedHost)
        /// The port is not 1 to 65,535.
        public static let invalidPort = Self(kind: .invalidPort)
        /// Names or port of the HTTP proxy cannot be written as HTTP wants them.
        public static let invalidProxy = Self(kind: .invalidProxy)
        /// The identifier of a key or of a team is not 10 characters, A to Z and 0 to 9.
        public static let malformedIdentifier = Self(kind: .malformedIdentifier)
        /// The tokens of the source are made elsewhere, so it has no key that could be replaced.
        public static let keyNotHere = Self(kind: .keyNotHere)
        /// The bundle ID of a channel manager is empty, too long, or holds other characters than letters, digits, hyphens,
        /// underscores and dots.
        public static let malformedBundleID = Self(kind: .malformedBundleID)
        /// The file through which processes share a provider token cannot be written.
        public static let tokenFileUnusable = Self(kind: .tokenFileUnusable)
    }
}

/// An error of a provider as a whole: of its connections, its credentials or its peer, rather than of one notification.
public struct ProviderError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The kind of error.
    public var code: Code
    /// One sentence about what happened, where, and what to do. Contains no token, payload or key.
    public var message: String
    /// The error that caused this one.
    public var cause: (any Error)?
    /// Whether no retry can cure the error: the peer's certificate is not trusted, the peer refused the credentials, or
    /// it speaks another protocol. If no connection has worked yet, such an error ends the queued notifications at
    /// once, unless the options have `retriesLastingErrors`.
    public var isLasting: Bool

    /// - Parameters:
    ///   - code: the kind of error.
    ///   - message: one sentence without a token, payload or key.
    ///   - cause: the error that caused this one.
    ///   - isLasting: whether no retry can cure the error. Nil means true for ``Code/credentialsRejected`` and
    ///     ``Code/peerNotTrusted`` only.
    public init(_ code: Code, _ message: String, cause: (any Error)? = nil, isLasting: Bool? = nil) {
        self.code = code
        self.message = message
        self.cause = cause
        self.isLasting = isLasting ?? (code == .credentialsRejected || code == .peerNotTrusted)
    }

    /// Whether both are the same fault in the same words. Their causes are not compared.
    public static func == (left: ProviderError, right: ProviderError) -> Bool {
        left.code == right.code && left.message == right.message
    }

    /// Hashes code and message.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(self.code)
        hasher.combine(self.message)
    }

    /// The message.
    public var description: String { self.message }

    /// The kind of error. Open: later versions may add codes.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        private enum Kind: String, CaseIterable {
            case connectFailed, connectTimeout, connectionLost, credentialsRejected, peerNotTrusted
            case connectionRetryLimit, protocolViolation, tooManyRejections, noProviderToken
        }

        private var kind: Kind

        private init(_ kind: Kind) { self.kind = kind }

        /// No connection could be made: refused, unreachable, no such host, TLS failure.
        public static let connectFailed = Code(.connectFailed)
        /// Connecting, TLS included, took longer than `connectTimeout`.
        public static let connectTimeout = Code(.connectTimeout)
        /// An established connection failed: a reset, an error of the network or of TLS.
        public static let connectionLost = Code(.connectionLost)
        /// The peer refused the client certificate or the provider token.
        public static let credentialsRejected = Code(.credentialsRejected)
        /// The peer's certificate was not accepted: unknown authority, expired, or for another name.
        public static let peerNotTrusted = Code(.peerNotTrusted)
        /// Connections kept failing beyond `connectionRetryLimit` or `connectionRetryTime`. The queued notifications
        /// end as ``Outcome/UndeliveredCause/noConnection``.
        public static let connectionRetryLimit = Code(.connectionRetryLimit)
        /// The peer rejected too many notifications in a row for reasons for which APNs closes connections. Sending
        /// pauses.
        public static let tooManyRejections = Code(.tooManyRejections)
        /// No provider token may be used now. Nothing is sent until there is one. Each notification waits for it until
        /// its deadline.
        public static let noProviderToken = Code(.noProviderToken)
        /// The peer does not speak the protocol.
        public static let protocolViolation = Code(.protocolViolation)

        /// Every code that Ferry gives.
        package static var all: [Code] { Kind.allCases.map { Code($0) } }

        /// The code's name.
        public var description: String { self.kind.rawValue }
    }
}

/// The reason why a request to create, read, delete or list channels failed.
///
/// ``mayHaveTakenEffect`` tells whether a channel may have been made or deleted all the same.
public struct ChannelManagerError: Error, Sendable, CustomStringConvertible {
    /// The kind of error.
    public var code: Code
    /// One to three sentences: what happened, where, and what to do. Contains no provider token and no key.
    public var message: String
    /// Whether the request may have created or deleted a channel. Always false for reading and listing.
    ///
    /// After a creation, list the channels before another: APNs gives the identifier of a channel only once. After a
    /// deletion, read the channel: ``Reason/channelNotRegistered`` says that it is gone.
    public var mayHaveTakenEffect: Bool
    /// APNs' reason, even if Ferry does not know it. Nil unless APNs refused the request.
    public var reason: Reason?
    /// The HTTP status. Nil without an answer.
    public var status: Int?
    /// The request's `apns-request-id`, for questions to Apple. Nil if there was no request.
    public var requestID: APNSID?
    /// The error that caused this one.
    public var cause: (any Error)?

    package init(
        _ code: Code,
        _ message: String,
        mayHaveTakenEffect: Bool = false,
        reason: Reason? = nil,
        status: Int? = nil,
        requestID: APNSID? = nil,
        cause: (any Error)? = nil
    ) {
        self.code = code
        self.message = message
        self.mayHaveTakenEffect = mayHaveTakenEffect
        self.reason = reason
        self.status = status
        self.requestID = requestID
        self.cause = cause
    }

    /// The message.
    public var description: String { self.message }

    /// The kind of error. Open: later versions may add codes.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        private enum Kind: String {
            case refused, timeout, connectFailed, connectTimeout, connectionLost, credentialsRejected, peerNotTrusted
            case notProcessed, invalidAnswer, answerTooLong, noProviderToken, tooManyCalls, shutDown, cancelled
        }

        private var kind: Kind

        private init(_ kind: Kind) { self.kind = kind }

        package init(meaning code: ProviderError.Code) {
            switch code {
            case .connectTimeout: self.init(.connectTimeout)
            case .connectionLost: self.init(.connectionLost)
            case .credentialsRejected: self.init(.credentialsRejected)
            case .peerNotTrusted: self.init(.peerNotTrusted)
            case .noProviderToken: self.init(.noProviderToken)
            default: self.init(.connectFailed)
            }
        }

        /// APNs refused the request: see ``ChannelManagerError/reason`` and ``ChannelManagerError/status``.
        public static let refused = Code(.refused)
        /// The deadline passed.
        public static let timeout = Code(.timeout)
        /// No connection could be made: refused, unreachable, no such host, TLS failure.
        public static let connectFailed = Code(.connectFailed)
        /// Connecting, TLS included, took longer than `connectTimeout`.
        public static let connectTimeout = Code(.connectTimeout)
        /// The connection or the request's stream ended before the answer was complete.
        public static let connectionLost = Code(.connectionLost)
        /// The peer refused the client certificate.
        public static let credentialsRejected = Code(.credentialsRejected)
        /// The peer's certificate was not accepted: unknown authority, expired, or for another name.
        public static let peerNotTrusted = Code(.peerNotTrusted)
        /// APNs says that it did not process the request, or the request never left. It can be repeated safely.
        public static let notProcessed = Code(.notProcessed)
        /// The answer is not one that APNs gives.
        public static let invalidAnswer = Code(.invalidAnswer)
        /// The list is longer than the configuration allows.
        public static let answerTooLong = Code(.answerTooLong)
        /// No provider token may be used now.
        public static let noProviderToken = Code(.noProviderToken)
        /// Too many calls wait already.
        public static let tooManyCalls = Code(.tooManyCalls)
        /// The manager was shut down, or its event loop has ended.
        public static let shutDown = Code(.shutDown)
        /// The task was cancelled.
        public static let cancelled = Code(.cancelled)

        /// The code's name.
        public var description: String { self.kind.rawValue }
    }
}

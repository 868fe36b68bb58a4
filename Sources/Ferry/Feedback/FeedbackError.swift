internal import FerryCore

/// The reason why a reading stopped before the end of the list.
///
/// All tuples read before it were delivered. ``report`` counts them.
public struct FeedbackError: Error, Sendable, CustomStringConvertible {
    /// The kind of error.
    public var code: Code
    /// One or two sentences: what happened, where, and how to fix it. Contains no device token and no key.
    public var message: String
    /// The counts of the reading up to this error.
    public var report: FeedbackReport
    /// The error that caused this one.
    public var cause: (any Error)?

    init(_ code: Code, _ message: String, report: FeedbackReport, cause: (any Error)? = nil) {
        self.code = code
        self.message = message
        self.report = report
        self.cause = cause
    }

    init(_ error: ProviderError, report: FeedbackReport) {
        self.init(Code(meaning: error.code), error.message, report: report, cause: error.cause)
    }

    /// The message.
    public var description: String { self.message }

    /// The kind of error. Open: later versions may add codes.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        private enum Kind: String {
            case connectFailed, connectTimeout, credentialsRejected, peerNotTrusted, notFeedback
            case connectionLost, truncated, notClosed, sweepTimeout, cancelled
        }

        private var kind: Kind

        private init(_ kind: Kind) { self.kind = kind }

        fileprivate init(meaning code: ProviderError.Code) {
            switch code {
            case .connectTimeout: self.init(.connectTimeout)
            case .connectionLost: self.init(.connectionLost)
            case .credentialsRejected: self.init(.credentialsRejected)
            case .peerNotTrusted: self.init(.peerNotTrusted)
            default: self.init(.connectFailed)
            }
        }

        /// The connection failed: refused, unreachable, unknown host, or TLS failure. The list is untouched.
        public static let connectFailed = Code(.connectFailed)
        /// Connecting, including TLS, took longer than `connectTimeout`. The list is untouched.
        public static let connectTimeout = Code(.connectTimeout)
        /// The service refused the client certificate. The list is untouched.
        public static let credentialsRejected = Code(.credentialsRejected)
        /// The service's certificate was not accepted: unknown authority, expired, or another name. The list is
        /// untouched.
        public static let peerNotTrusted = Code(.peerNotTrusted)
        /// The peer speaks another protocol, which has no feedback list.
        public static let notFeedback = Code(.notFeedback)
        /// The connection failed during the list: a reset, or an error of the network or of TLS. If reading clears the
        /// list, as Apple's service does, the unread rest is lost.
        public static let connectionLost = Code(.connectionLost)
        /// The stream ended inside a tuple. That tuple is lost.
        public static let truncated = Code(.truncated)
        /// The service was silent for `idleTimeout` and did not end the stream. More tuples may exist.
        public static let notClosed = Code(.notClosed)
        /// The service took longer than `sweepTimeout`. More tuples may exist.
        public static let sweepTimeout = Code(.sweepTimeout)
        /// The task was cancelled. More tuples may exist.
        public static let cancelled = Code(.cancelled)

        /// The code's name.
        public var description: String { self.kind.rawValue }
    }
}

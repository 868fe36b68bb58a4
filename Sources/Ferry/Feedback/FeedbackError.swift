internal import FerryCore

/// Why a reading of the feedback list did not come to the end of the list.
///
/// What was read before it was delivered before it: ``report`` has the counts.
public struct FeedbackError: Error, Sendable, CustomStringConvertible {
    /// What kind of thing went wrong.
    public var code: Code
    /// What happened, where, and what to do, in one sentence or two. Holds no token and no key.
    public var message: String
    /// What was read until then.
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
            case connectFailed, connectTimeout, credentialsRejected, peerNotTrusted
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

        /// No connection could be made: refused, unreachable, no such host, TLS failure. The list is untouched.
        public static let connectFailed = Code(.connectFailed)
        /// Connecting, TLS included, took longer than `connectTimeout`. The list is untouched.
        public static let connectTimeout = Code(.connectTimeout)
        /// The service refused the client certificate. The list is untouched.
        public static let credentialsRejected = Code(.credentialsRejected)
        /// The service's certificate was not accepted: unknown authority, expired, or for another name. The list is
        /// untouched.
        public static let peerNotTrusted = Code(.peerNotTrusted)
        /// The connection failed in the middle: a reset, an error of the network or of TLS. What followed is lost where
        /// reading clears the list, as at Apple's.
        public static let connectionLost = Code(.connectionLost)
        /// The stream ended within a tuple, which is lost.
        public static let truncated = Code(.truncated)
        /// The service said nothing for `idleTimeout` and did not end the stream. There may be more.
        public static let notClosed = Code(.notClosed)
        /// The service took longer than `sweepTimeout`. There may be more.
        public static let sweepTimeout = Code(.sweepTimeout)
        /// The task was cancelled. There may be more.
        public static let cancelled = Code(.cancelled)

        /// The code's name.
        public var description: String { self.kind.rawValue }
    }
}

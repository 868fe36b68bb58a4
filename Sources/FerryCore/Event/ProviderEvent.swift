/// An event of a provider beside the outcomes: one of node-apn's events, or one that Ferry adds.
///
/// Events inform; they do not account. A slow reader loses the oldest events and learns their number from
/// ``dropped(_:)``.
@nonexhaustive
public enum ProviderEvent: Sendable {
    /// A connection is ready to send. `open` includes it.
    case connected(ConnectionID, open: Int)
    /// A connection ended. `open` no longer includes it.
    case disconnected(ConnectionID, open: Int)
    /// Notifications were given to TLS on a connection, for the first time or again. This says nothing about their
    /// fate.
    ///
    /// `tags` are those of one write. Each event costs an array, so it is made only while someone listens.
    case transmitted(ConnectionID, tags: [PushTag])
    /// No notification is queued or unsettled any more. Sent each time this becomes true: again after a repair.
    case completed
    /// An error response named a notification older than the cache. A cache with `by` more entries would have held it.
    case cacheTooSmall(by: Int)
    /// The peer rejected a notification. `notification` and `device` are nil if the cache no longer held them. `device` is nil
    /// for a broadcast, too. `tag` is nil if the rejected notification is unknown, and for one whose outcome is awaited.
    case transmissionError(Rejection, tag: PushTag?, notification: PushNotification?, device: DeviceToken?)
    /// The peer reset a request without an answer, so nothing shows whether it has the notification. HTTP/2 only. `tag`
    /// is nil for a notification that ``PushProvider/send(_:to:)`` awaits.
    case requestReset(ConnectionID, HTTP2ErrorCode, tag: PushTag?)
    /// A connection failed, or could not be made.
    case socketError(ConnectionID, ProviderError)
    /// A connection was idle for `idleTimeout` and is being closed.
    case timeout(ConnectionID)
    /// An error that needs a person: ``ProviderError/Code/credentialsRejected``,
    /// ``ProviderError/Code/connectionRetryLimit`` or ``ProviderError/Code/protocolViolation``.
    case error(ProviderError)
    /// Notifications wait to be sent again, because the peer discarded them or may have discarded them. With
    /// `afterOutcome`, they already have an outcome, and it stands. ``DrainReport/resent`` counts the copies that were
    /// written.
    case resent(count: Int, afterOutcome: Bool)
    /// Outcomes turned out wrong. One event covers all that turned out wrong at the same time for the same reason.
    case contradicted(Contradiction)
    /// The limit of unsettled notifications on one connection has changed.
    case windowAdjusted(Int)
    /// Something happened to the migration of a provider with two protocols.
    case migration(MigrationEvent)
    /// This many events were lost because they were not read in time.
    case dropped(Int)
}

extension ProviderEvent {
    /// The trouble that the event reports; nil for other events.
    package var providerError: ProviderError? {
        switch self {
        case .error(let error), .socketError(_, let error): error
        default: nil
        }
    }
}

/// Outcomes of `accepted` that were wrong.
///
/// An error response that names a notification shows exactly which outcomes are wrong. An error response without a name
/// is about any unproved notification of its connection: `count` is then 1, and `upTo` is the number of suspects that
/// have an outcome. The notifications before the refused one arrived, and those after it were discarded, but its place
/// is unknown. If some suspects have no outcome yet, the refused one may be among these, and no outcome is wrong.
public struct Contradiction: Sendable, Hashable {
    /// The number of wrong outcomes; 1 if the peer refused a notification without naming it.
    public var count: Int
    /// The number of outcomes that may be wrong, `count` included.
    public var upTo: Int
    /// The tags of all outcomes that may be wrong, as far as they were still known.
    public var tags: [PushTag]
    /// The true fate of the notifications.
    public var kind: Kind

    /// The true fate of notifications that had been presumed accepted.
    @nonexhaustive
    public enum Kind: Sendable, Hashable {
        /// The peer rejected the notification after it had been presumed accepted.
        case rejected(Rejection)
        /// The peer discarded the notification, and its bytes were gone, so it could not be sent again.
        case lost
        /// The peer may have discarded the notification, so it was to be sent again. Nothing shows whether that copy
        /// arrived. The outcome may be right.
        case uncertain
    }

    /// - Parameters:
    ///   - count: the number of wrong outcomes.
    ///   - upTo: the number of outcomes that may be wrong. Nil, or a number below `count`, means `count`.
    ///   - tags: the tags that are known; at most `upTo`.
    ///   - kind: the true fate of the notifications.
    public init(count: Int, upTo: Int? = nil, tags: [PushTag], kind: Kind) {
        self.count = count
        self.upTo = max(upTo ?? count, count)
        self.tags = tags
        self.kind = kind
    }
}

/// The number of a connection, from 1. A provider never uses a number twice.
public struct ConnectionID: Hashable, Sendable, CustomStringConvertible {
    /// The number itself.
    public var rawValue: UInt64

    /// The connection with this number.
    public init(_ rawValue: UInt64) {
        self.rawValue = rawValue
    }

    /// The word "connection" and the number.
    public var description: String { "connection \(self.rawValue)" }
}

/// What happens at a provider beside the outcomes: node-apn's events, and what Ferry adds.
///
/// Events inform, they do not account: a slow reader loses the oldest and is told how many, as ``dropped(_:)``.
@nonexhaustive
public enum ProviderEvent: Sendable {
    /// A connection is ready to send. `open` counts it.
    case connected(ConnectionID, open: Int)
    /// A connection ended. `open` no longer counts it.
    case disconnected(ConnectionID, open: Int)
    /// Notifications were given to TLS on a connection, for the first time or again. Says nothing about their fate.
    ///
    /// `tags` are those of one write: an array for each, which is why the event is made only while someone listens.
    case transmitted(ConnectionID, tags: [Tag])
    /// Nothing is queued and nothing is unsettled any more. Once each time that this becomes so: again after a repair.
    case completed
    /// An error response named a notification older than the cache; `by` more entries would have held it.
    case cacheTooSmall(by: Int)
    /// The peer rejected a notification. `notification` and `device` are nil when the cache no longer held them; `tag`
    /// is nil when nobody knows which notification was meant, and for one that ``PushProvider/send(_:to:)`` awaits.
    case transmissionError(Rejection, tag: Tag?, notification: PushNotification?, device: DeviceToken?)
    /// The peer reset a request without an answer, so that nothing says whether it has the notification. HTTP/2 only. `tag`
    /// is nil for a notification that ``PushProvider/send(_:to:)`` awaits.
    case requestReset(ConnectionID, HTTP2ErrorCode, tag: Tag?)
    /// A connection failed, or could not be made.
    case socketError(ConnectionID, ProviderError)
    /// A connection was idle for `connectionTimeout` and is being closed.
    case timeout(ConnectionID)
    /// Something that needs a person: ``ProviderError/Code/credentialsRejected``,
    /// ``ProviderError/Code/connectionRetryLimit`` or ``ProviderError/Code/protocolViolation``.
    case error(ProviderError)
    /// Notifications wait to go out again, because the peer discarded them or nothing says that it did not. With
    /// `afterOutcome` their outcome had been given already and stands. ``DrainReport/resent`` counts what was written.
    case resent(count: Int, afterOutcome: Bool)
    /// Outcomes that were given turned out wrong. One event for all that turned out at the same time for the same reason.
    case contradicted(Contradiction)
    /// How many notifications may be unsettled on one connection has changed.
    case windowAdjusted(Int)
    /// A migrating provider moved its share of `share` (0…1) to the new wire.
    case migrated(share: Double)
    /// This many events were lost because they were not read in time.
    case dropped(Int)
}

/// Outcomes of `accepted` that were wrong.
///
/// An error response that names a notification tells exactly which. One without a name is about any notification of its
/// connection that was not proved: then `count` is 1 and `upTo` is the number of suspects that have an outcome. Those
/// before the refused one arrived, those behind it were discarded, and nothing tells where it was. If others had no outcome
/// yet, the refused one may be among these, and no outcome wrong.
public struct Contradiction: Sendable, Hashable {
    /// How many outcomes are wrong; 1 when the peer refused one without a name.
    public var count: Int
    /// How many may be wrong, `count` included.
    public var upTo: Int
    /// The tags of all that may be wrong, as far as they were still known.
    public var tags: [Tag]
    /// What really became of them.
    public var kind: Kind

    /// What really became of notifications that had been presumed accepted.
    @nonexhaustive
    public enum Kind: Sendable, Hashable {
        /// The peer rejected the notification after it had been presumed accepted.
        case rejected(Rejection)
        /// The peer discarded the notification, and its bytes were no longer there to be sent again.
        case lost
        /// The notification was to be sent again, because the peer may have discarded it, and nothing says whether that
        /// copy arrived. Its outcome may hold.
        case uncertain
    }

    /// - Parameters:
    ///   - upTo: nil: `count`.
    ///   - tags: those that are known; at most `upTo`.
    public init(count: Int, upTo: Int? = nil, tags: [Tag], kind: Kind) {
        self.count = count
        self.upTo = max(upTo ?? count, count)
        self.tags = tags
        self.kind = kind
    }
}

/// A number for each connection that a provider opens, from 1 on, never used twice.
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

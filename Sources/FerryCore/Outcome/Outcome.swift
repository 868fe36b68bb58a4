/// What became of a notification. Every notification that a provider took ends in exactly one outcome.
@nonexhaustive
public enum Outcome: Hashable, Sendable {
    /// APNs took it.
    case accepted(Acceptance)
    /// APNs, a gateway or Ferry refused it, and said why.
    indirect case rejected(Rejection)
    /// Its expiration passed before it was written.
    case expired
    /// It is *known* not to have been delivered.
    case undelivered(UndeliveredCause)
    /// It was written, and nothing says whether it arrived.
    case uncertain(UncertainCause)

    /// How well an acceptance is founded.
    @nonexhaustive
    public enum Acceptance: UInt8, Hashable, Sendable {
        /// The peer proved it: by HTTP/2 status 200, or by a later error response or a probe of the binary protocol.
        case confirmed
        /// The binary protocol never says yes. The peer's TCP acknowledged the notification and then stayed silent
        /// for the settle time.
        case presumed
    }

    /// Why a notification is known not to have been delivered.
    @nonexhaustive
    public enum UndeliveredCause: UInt8, Hashable, Sendable {
        /// The provider was shut down before the notification was written.
        case shutDown
        /// The caller withdrew it before it was written.
        case cancelled
        /// It followed a rejected notification, so the gateway discarded it, and the cache no longer held it.
        case evicted
        /// It followed a rejected notification, so the gateway discarded it, and `buffersNotifications` is off.
        case discarded
        /// The peer refused the provider's credentials, or there was no provider token when the deadline passed.
        case credentials
        /// More connections in a row failed, or ended without a notification accepted or rejected by name, than
        /// `connectionRetryLimit` or `connectionRetryTime` allows; or, over HTTP/2, there was no connection when the
        /// deadline passed.
        case noConnection
        /// The last reference to the provider was dropped before the notification was written.
        case released
        /// Its deadline passed before it could be written. HTTP/2 only.
        case deadline
    }

    /// Why nothing can be said about a notification that was written.
    @nonexhaustive
    public enum UncertainCause: UInt8, Hashable, Sendable {
        /// The connection ended, and nothing says how far the peer had read.
        case positionUnknown
        /// Every connection that carried it alone was closed without a word.
        case peerCloses
        /// The provider was shut down before the peer had answered, or, on the binary protocol, been silent for long enough.
        case shutDown
        /// An earlier copy may have arrived; the one that was to replace it was not written any more.
        case notRepeated
        /// The last reference to the provider was dropped before it was settled.
        case released
        /// The peer did not answer in time. HTTP/2 only.
        case noAnswer
        /// The peer reset the request without an answer, with ``OutcomeRecord/errorCode``. HTTP/2 only.
        case reset
    }
}

/// One notification's outcome, by its tag.
public struct OutcomeRecord: Hashable, Sendable {
    /// What few outcomes have: on the heap, so that the others pay for a pointer only.
    private indirect enum Rarity: Hashable {
        case none
        case some(errorCode: HTTP2ErrorCode?, uniqueID: String?)
    }

    /// The tag given to ``PushBatch/append(_:to:tag:)``.
    public var tag: Tag
    /// What became of the notification.
    public var outcome: Outcome
    /// The `apns-id` that APNs knows the notification by; nil on the binary protocol, which has none.
    public var apnsID: APNSID?
    private var rarity = Rarity.none

    /// With which error code the peer reset the request; nil unless the outcome is `uncertain(.reset)`.
    public var errorCode: HTTP2ErrorCode? {
        if case .some(let errorCode, _) = self.rarity { errorCode } else { nil }
    }

    /// The `apns-unique-id` of APNs' answer: what Apple's delivery log knows the notification by. 1 to 128 visible ASCII
    /// characters; nil when there was none. APNs sends it in the development environment only.
    public var apnsUniqueID: String? {
        if case .some(_, let uniqueID) = self.rarity { uniqueID } else { nil }
    }

    /// One notification's outcome.
    ///
    /// Cost: no allocation without `errorCode` and `apnsUniqueID`.
    public init(
        tag: Tag,
        outcome: Outcome,
        apnsID: APNSID? = nil,
        errorCode: HTTP2ErrorCode? = nil,
        apnsUniqueID: String? = nil
    ) {
        self.tag = tag
        self.outcome = outcome
        self.apnsID = apnsID
        if errorCode != nil || apnsUniqueID != nil {
            self.rarity = .some(errorCode: errorCode, uniqueID: apnsUniqueID)
        }
    }
}

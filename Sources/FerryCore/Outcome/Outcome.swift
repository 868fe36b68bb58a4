/// The final state of a notification. Every notification that a provider took ends in exactly one outcome.
@nonexhaustive
public enum Outcome: Hashable, Sendable {
    /// APNs accepted it: proved or presumed.
    case accepted(Acceptance)
    /// APNs, a gateway or Ferry refused it and gave a reason.
    indirect case rejected(Rejection)
    /// Its expiration passed before it was written.
    case expired
    /// It was certainly *not* delivered.
    case undelivered(UndeliveredCause)
    /// It was written, and nothing shows whether it arrived.
    case uncertain(UncertainCause)

    /// The evidence for an acceptance.
    @nonexhaustive
    public enum Acceptance: UInt8, Hashable, Sendable {
        /// The peer proved it: by HTTP/2 status 200, or on the binary protocol by a later error response or a probe.
        case confirmed
        /// The peer's TCP acknowledged the notification, and the peer then stayed silent for the settle time. The
        /// binary protocol never confirms an acceptance.
        case presumed
    }

    /// The reason why a notification was certainly not delivered.
    @nonexhaustive
    public enum UndeliveredCause: UInt8, CaseIterable, Hashable, Sendable {
        /// The provider was shut down before the notification was written.
        case shutDown
        /// The caller withdrew it before it was written.
        case cancelled
        /// The gateway discarded it, because an error response named an earlier notification: a rejected one, or with
        /// status 10 the last accepted one. The cache no longer held it.
        case evicted
        /// The gateway discarded it, because an error response named an earlier notification: a rejected one, or with
        /// status 10 the last accepted one. `buffersNotifications` is off.
        case discarded
        /// The peer refused the provider's credentials, or there was no provider token when the deadline passed.
        case credentials
        /// More connections in a row failed than `connectionRetryLimit` or `connectionRetryTime` allows. A connection
        /// that ended counts as failed unless a notification was accepted, or rejected by name, on it. Over HTTP/2
        /// also: there was no connection when the deadline passed.
        case noConnection
        /// The last reference to the provider was dropped before the notification was written.
        case released
        /// Its deadline passed before it could be written. HTTP/2 also: the peer refused it each time without processing
        /// it.
        case deadline
    }

    /// The reason why the fate of a written notification is unknown.
    @nonexhaustive
    public enum UncertainCause: UInt8, CaseIterable, Hashable, Sendable {
        /// The connection ended, and nothing shows how far the peer had read.
        case positionUnknown
        /// The peer closed every connection that carried only this notification, without an answer.
        case peerCloses
        /// The provider was shut down before the peer answered or, on the binary protocol, was silent for long enough.
        case shutDown
        /// An earlier copy may have arrived. The next copy was not written.
        case notRepeated
        /// The last reference to the provider was dropped before the notification was settled.
        case released
        /// The peer did not answer in time. HTTP/2 only.
        case noAnswer
        /// The peer reset the request without an answer. ``OutcomeRecord/errorCode`` has its error code. HTTP/2 only.
        case reset
    }
}

/// The outcome of one notification, with its tag.
public struct OutcomeRecord: Hashable, Sendable {
    /// The fields that few outcomes have. They are on the heap, so that the other outcomes pay only for a pointer.
    private indirect enum Rarity: Hashable {
        case none
        case some(errorCode: HTTP2ErrorCode?, uniqueID: String?, error: ProviderError?)
    }

    /// The tag given to ``PushBatch/append(_:to:tag:)``.
    public var tag: PushTag
    /// The final state of the notification.
    public var outcome: Outcome
    /// The notification's `apns-id` at APNs; nil on the binary protocol, which has no such field.
    public var apnsID: APNSID?
    private var rarity = Rarity.none

    /// The error code with which the peer reset the request; nil unless the outcome is `uncertain(.reset)`.
    public var errorCode: HTTP2ErrorCode? {
        if case .some(let errorCode, _, _) = self.rarity { errorCode } else { nil }
    }

    /// The `apns-unique-id` of APNs' answer, which names the notification in Apple's delivery log. 1 to 128 visible
    /// ASCII characters; nil if the answer had none. APNs sends it in the development environment only.
    public var apnsUniqueID: String? {
        if case .some(_, let uniqueID, _) = self.rarity { uniqueID } else { nil }
    }

    /// The trouble with connections, credentials or peer at the time of an `undelivered` or `uncertain` outcome; nil if
    /// there was none since the peer last accepted or rejected a notification.
    public var error: ProviderError? {
        if case .some(_, _, let error) = self.rarity { error } else { nil }
    }

    /// Creates the record of one notification.
    ///
    /// Cost: no allocation without `errorCode`, `apnsUniqueID` and `error`.
    public init(
        tag: PushTag,
        outcome: Outcome,
        apnsID: APNSID? = nil,
        errorCode: HTTP2ErrorCode? = nil,
        apnsUniqueID: String? = nil,
        error: ProviderError? = nil
    ) {
        self.tag = tag
        self.outcome = outcome
        self.apnsID = apnsID
        if errorCode != nil || apnsUniqueID != nil || error != nil {
            self.rarity = .some(errorCode: errorCode, uniqueID: apnsUniqueID, error: error)
        }
    }
}

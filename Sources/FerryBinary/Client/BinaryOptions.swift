internal import FerryCore

/// The options of a binary provider. A name from node-apn has the meaning that it has there. The defaults suit a
/// provider of any size.
public struct BinaryOptions: Sendable, Hashable {
    /// The behaviour when the notification cache is full.
    @nonexhaustive
    public enum CachePolicy: Sendable, Hashable {
        /// Writing waits until the oldest notifications are settled. Nothing is lost if error responses come within the
        /// settle time.
        case hold
        /// node-apn's behaviour: the oldest notification loses its bytes. If an error response then names a
        /// notification before it, it ends as `undelivered(.evicted)`.
        case evict
    }

    /// The behaviour for written notifications when a connection ended without saying how far the peer had read.
    @nonexhaustive
    public enum UnknownPolicy: Sendable, Hashable {
        /// The notifications are sent again: none is missing, some may arrive twice.
        case resend
        /// The notifications end as `uncertain`: none arrives twice, some may be missing.
        case report
    }

    /// The evidence that counts as acceptance.
    @nonexhaustive
    public enum Finality: Sendable, Hashable {
        /// Proof, or acknowledged silence for the settle time.
        case silence
        /// Only error responses and probes.
        case proof
    }

    /// The bounds of all notification caches of a provider together.
    public struct CacheLimit: Sendable, Hashable {
        /// The number of notifications.
        public var entries: Int
        /// The number of bytes of tokens, payloads and the other fields.
        public var bytes: Int

        /// Sets both bounds. The bound that is reached first counts.
        public init(entries: Int, bytes: Int) {
            self.entries = entries
            self.bytes = bytes
        }
    }

    /// The command with which notifications are written.
    public var command: Command = .frame
    /// The largest payload in bytes: 2048 since iOS 8, 256 before, 4096 in node-apn's `voip` mode. A larger payload is
    /// not sent. It ends as `rejected` with ``Reason/payloadTooLarge`` and origin ``Rejection/Origin/ferry``.
    public var payloadLimit = PayloadLimit.binary
    /// How many notifications the cache holds, at least 1. Under `.evict` this many notifications, settled or not, keep
    /// their bytes on each connection. Under `.hold` this many may be written and not yet settled, on all connections
    /// together; it counts only while ``autoAdjustCache`` is off.
    public var cacheLength = 1000
    /// Whether the cache grows. Under `.hold` it grows on demand up to ``cacheLimit``; under `.evict`, by the number of
    /// notifications that an error response showed to be missing. If off, `.hold` sends at most ``cacheLength``
    /// notifications in a round trip and a settle time.
    public var autoAdjustCache = true
    /// The bound of the growth. One write of 96 KiB may exceed the bytes. Under `.evict` only `entries` counts.
    public var cacheLimit = CacheLimit(entries: 262_144, bytes: 64 << 20)
    /// The behaviour when the cache is full.
    public var cachePolicy: CachePolicy = .hold
    /// Under `.hold` with a full cache: whether a probe proves acceptance instead of waiting. Each probe costs a new
    /// connection.
    public var probeWhenHeld = false
    /// Whether the followers of a rejected notification are sent again. If not, they end as `undelivered(.discarded)`,
    /// or as `uncertain(.notRepeated)` if an earlier copy may have arrived.
    public var buffersNotifications = true
    /// The behaviour for written notifications when the connection ended without saying how far the peer had read.
    public var onUnknown: UnknownPolicy = .resend
    /// The evidence that counts as acceptance. `.proof` costs a connection for each probe. It falls back to silence
    /// when the peer does not answer probes, or ``command`` has no identifiers.
    public var finality: Finality = .silence
    /// How long the peer must stay silent, after its TCP acknowledged a notification, until the notification is
    /// presumed accepted. An error response that takes long raises it to 1.5 times the longest delay seen, up to 10 s.
    /// That delay is halved every hour.
    public var settleTime: Duration = .seconds(1)
    /// How often a notification is sent again after status 1 (processing error) or 255 (none): 0 to 255.
    public var retryLimit = 0
    /// The number of connections, at least 1. Devices are spread over the connections by their token.
    public var maxConnections = 1
    /// How long connecting may take: name look-up, TCP and TLS together. More than 0: there is always a limit.
    public var connectTimeout: Duration = .seconds(10)
    /// How long a notification may take from submission until it is written, all copies together. One that is not written
    /// in time ends as `undelivered(.deadline)`, or with `.noConnection` if that was missing; as `uncertain(.notRepeated)` if
    /// an earlier copy may have arrived. Nil: no limit but ``connectionRetryLimit``.
    public var deadline: Duration?
    /// A connection that is idle for this time, without unsettled notifications, is closed. The binary protocol has no PING,
    /// so nothing else shows that a NAT on the path has forgotten the connection: Azure's forgets after 240 s, Amazon's
    /// after 350 s, many sooner. Nil: never.
    public var idleTimeout: Duration? = .seconds(200)
    /// How many connections in a row may fail, or end before a notification is accepted or rejected by name. After one
    /// more, queued notifications end as `undelivered(.noConnection)`. Nil: no limit.
    public var connectionRetryLimit: Int? = 10
    /// How long connections in a row may fail so, from the start of the first. The first failure after that time gives
    /// up the queue, too. Nil: no limit. The last attempt begins within this time, and may take ``connectTimeout``.
    public var connectionRetryTime: Duration?
    /// Whether to go on after an error that no retry can mend (``ProviderError/isLasting``). If not, it ends what is queued
    /// at once, as `undelivered(.noConnection)` or `undelivered(.credentials)`.
    public var retriesLastingErrors = false
    /// The first and the longest wait after a failed connection. The wait doubles in between. A random factor makes
    /// each wait 75 to 100 % of that.
    public var backOff: ClosedRange<Duration> = .milliseconds(250) ... .seconds(30)
    /// How many notifications may wait to be written, or for their outcome to be read. At least 1. Notifications beyond
    /// it wait in `submit`. Followers of an error that wait to be sent again count, and may exceed the limit.
    public var queueLimit = 65_536
    /// The first sequence number of each connection. Tests put it close to the wrap-around.
    package var firstSequence: UInt64 = 0

    /// Creates the default options.
    public init() {}
}

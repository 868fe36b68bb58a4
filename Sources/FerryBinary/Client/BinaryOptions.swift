/// How a binary provider behaves. Names that node-apn has mean what they mean there; defaults are sensible for a
/// provider of any size.
public struct BinaryOptions: Sendable, Hashable {
    /// What happens when the notification cache is full.
    @nonexhaustive
    public enum CachePolicy: Sendable, Hashable {
        /// Writing waits for the oldest to settle. Nothing is lost as long as error responses come within the settle
        /// time.
        case hold
        /// node-apn's way: the oldest loses its bytes. If an error response then names an earlier one, it is reported
        /// as `undelivered(.evicted)`.
        case evict
    }

    /// What happens to notifications that were written when the connection ended without saying how far the peer had
    /// read.
    @nonexhaustive
    public enum UnknownPolicy: Sendable, Hashable {
        /// They are sent again: nothing is missing, some may arrive twice.
        case resend
        /// They end as `uncertain`: nothing arrives twice, some may be missing.
        case report
    }

    /// What counts as acceptance.
    @nonexhaustive
    public enum Finality: Sendable, Hashable {
        /// Proof, or acknowledged silence for the settle time.
        case silence
        /// Only error responses and probes.
        case proof
    }

    /// The bounds of all notification caches of a provider together.
    public struct CacheLimit: Sendable, Hashable {
        /// In notifications.
        public var entries: Int
        /// In bytes of tokens, payloads and the other fields.
        public var bytes: Int

        /// Whichever bound is reached first counts.
        public init(entries: Int, bytes: Int) {
            self.entries = entries
            self.bytes = bytes
        }
    }

    /// Which command notifications are written with.
    public var command: Command = .frame
    /// The largest payload in bytes: 2048 since iOS 8, 256 before, 4096 in node-apn's `voip` mode. A larger one ends as
    /// `rejected` with ``Reason/payloadTooLarge`` and origin ``Rejection/Origin/ferry``, and is not sent.
    public var payloadLimit = 2048
    /// How many notifications the cache holds, at least 1. Under `.evict` it is what keeps its bytes, settled or not, on
    /// each connection. Under `.hold` it is how many may be written and not yet settled, on all connections together,
    /// and counts only while ``autoAdjustCache`` is off.
    public var cacheLength = 1000
    /// Whether the cache grows: under `.hold` on demand up to ``cacheLimit``, under `.evict` by what an error response
    /// showed to be missing. Off, `.hold` sends at most ``cacheLength`` notifications in a round trip and a settle time.
    public var autoAdjustCache = true
    /// Where growing ends. Bytes may be exceeded by one write of 96 KiB. Under `.evict` only `entries` counts.
    public var cacheLimit = CacheLimit(entries: 262_144, bytes: 64 << 20)
    /// What happens when the cache is full.
    public var cachePolicy: CachePolicy = .hold
    /// Under `.hold` at the limit: a probe proves acceptance, at the price of a new connection, instead of waiting.
    public var probeWhenHeld = false
    /// Whether what followed a rejected notification is sent again. If not, it ends as `undelivered(.discarded)`, or as
    /// `uncertain(.notRepeated)` if an earlier copy may have arrived.
    public var buffersNotifications = true
    /// What happens to what was written when the connection ended without saying how far the peer had read.
    public var onUnknown: UnknownPolicy = .resend
    /// What counts as acceptance. `.proof` costs a connection for each probe, and falls back to silence when the peer
    /// does not answer probes, or ``command`` has no identifiers.
    public var finality: Finality = .silence
    /// How long the peer must stay silent after its TCP acknowledged a notification for it to be presumed accepted.
    /// Raised to 1.5 times the longest delay of an error response seen, up to 10 s; that delay is halved every hour.
    public var settleTime: Duration = .seconds(1)
    /// How often a notification is sent again after status 1 (processing error) or 255 (none): 0 to 255.
    public var retryLimit = 0
    /// At least 1. Devices are spread over the connections by their token.
    public var maxConnections = 1
    /// How long connecting may take, name look-up, TCP and TLS together. 0, node-apn's "no limit", is 127 s: as long as
    /// Linux itself would try.
    public var connectTimeout: Duration = .seconds(10)
    /// An idle connection, on which nothing is unsettled, is closed after this time. 0: never.
    public var connectionTimeout: Duration = .seconds(3600)
    /// How many connections in a row may fail, or end without a notification accepted or rejected by name: with one
    /// more, what is queued ends as `undelivered(.noConnection)`. 0: no limit.
    public var connectionRetryLimit = 10
    /// How long connections in a row may fail so, from the beginning of the first: the first failure after that gives up
    /// what is queued, too. 0: for ever. The last attempt begins no later than this, and may take ``connectTimeout``.
    public var connectionRetryTime: Duration = .zero
    /// The first and the longest wait after a failed connection; doubled in between. Each is 75 to 100 % of that, at
    /// random.
    public var backOff: ClosedRange<Duration> = .milliseconds(250) ... .seconds(30)
    /// How many notifications may wait to be written, or for their outcome to be read. At least 1. What is beyond it waits
    /// in `submit`. Followers of an error that wait to be sent again count, and may exceed it.
    public var queueLimit = 65_536
    /// The sequence number that each connection starts with; a test puts it close to the wrap-around.
    package var firstSequence: UInt64 = 0

    /// The defaults.
    public init() {}
}

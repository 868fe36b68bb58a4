/// How an HTTP/2 provider behaves. Defaults are sensible for a provider of any size.
public struct HTTP2Options: Sendable, Hashable {
    /// What happens to a request that was written when nothing says whether APNs processed it: the connection was lost,
    /// the stream was reset, or no answer came in time.
    ///
    /// What APNs says it did not process is sent again under either policy.
    @nonexhaustive
    public enum UnknownPolicy: Sendable, Hashable {
        /// It is sent again with the same `apns-id`: nothing is missing, some may arrive twice.
        case resend
        /// It ends as `uncertain`: nothing arrives twice, some may be missing.
        case report
    }

    /// How bursts of rejections are answered that count against a connection: BadDeviceToken, DeviceTokenNotForTopic and
    /// status 403. APNs closes connections for them ("Handling notification responses from APNs").
    public struct CircuitBreaker: Sendable, Hashable {
        /// So many in a row, without another answer in between, stop sending for a while. At least 1.
        public var threshold = 100
        /// The first and the longest pause; doubled each time in between.
        public var pause: ClosedRange<Duration> = .seconds(1) ... .seconds(30)
        /// How many notifications are tried after a pause. If all of them are rejected, the next is longer. At least 1.
        public var trial = 50

        /// The defaults.
        public init() {}
    }

    /// At least 1. Another connection is made only when all others are full and APNs has raised their limit of streams.
    public var maxConnections = 1
    /// How many requests may be under way on one connection: 1 to 100,000. What APNs allows in SETTINGS counts, too.
    public var maxStreams = 1000
    /// How long connecting may take: name look-up, TCP, proxy and TLS together, and as long again for SETTINGS to come.
    /// 0, node-apn's "no limit", is 127 s: as long as Linux itself would try.
    public var connectTimeout: Duration = .seconds(10)
    /// How long APNs may take for one answer.
    public var attemptTimeout: Duration = .seconds(10)
    /// How long a notification may take from submission to its outcome, all attempts together, but for the answer of the
    /// last. What is not written by then ends with what APNs said last; else as `undelivered(.deadline)`, or with
    /// `.noConnection` or `.credentials` while there was none.
    public var deadline: Duration = .seconds(60)
    /// How long a connection may be idle before a PING asks whether it is still there. Apple wants an hour; a NAT on the
    /// way may want 30 to 300 s.
    public var pingInterval: Duration = .seconds(3600)
    /// What happens to a request when nothing says whether APNs processed it.
    public var onUnknown: UnknownPolicy = .report
    /// How many connections in a row may fail, or end without an answer: with one more, what is queued ends as
    /// `undelivered(.noConnection)`. 0: no limit.
    public var connectionRetryLimit = 10
    /// How long connections in a row may fail so, from the beginning of the first: the first failure after that gives up
    /// what is queued, too. 0: for ever. The last attempt begins no later than this, and may take ``connectTimeout``.
    public var connectionRetryTime: Duration = .zero
    /// The first and the longest wait after a failed connection, and after a GOAWAY with ENHANCE_YOUR_CALM; doubled in
    /// between. Each is 75 to 100 % of that, at random.
    public var backOff: ClosedRange<Duration> = .milliseconds(250) ... .seconds(30)
    /// The least time between two notifications to one device. APNs keeps one notification for each device that it cannot
    /// reach, and a newer one overwrites it. Nil: none. The last 65,536 devices are remembered.
    public var devicePacing: Duration?
    /// Nil: bursts of rejections do not stop sending.
    public var circuitBreaker: CircuitBreaker? = CircuitBreaker()
    /// How many notifications may wait to be written, or for their outcome to be read. At least 1. What is beyond it waits
    /// in `submit`.
    public var queueLimit = 8192
    /// Whether to look at the socket for up to 100 µs before the event loop sleeps, while SETTINGS allow at most four
    /// requests and others wait. It makes one stream over loopback three times as fast, and holds up whatever shares the
    /// event loop. Pays where provider and server run on one machine with processors to spare.
    public var looksBeforeSleeping = false
    /// How many notifications may wait for their next attempt: what APNs asks to be delayed beyond it ends with APNs'
    /// answer. They count for ``queueLimit``.
    public var delayLimit = 4096

    /// How long connecting may take, with what 0 means.
    package var connectLimit: Duration { self.connectTimeout > .zero ? self.connectTimeout : .seconds(127) }

    /// The defaults.
    public init() {}
}

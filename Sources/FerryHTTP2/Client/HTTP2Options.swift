/// The options of an HTTP/2 provider. The defaults suit a provider of any size.
public struct HTTP2Options: Sendable, Hashable {
    /// The behaviour for a written request when nothing says whether APNs processed it: the connection was lost, the
    /// stream was reset, or no answer came in time.
    ///
    /// A request that APNs says it did not process is sent again under either policy.
    @nonexhaustive
    public enum UnknownPolicy: Sendable, Hashable {
        /// The request is sent again with the same `apns-id`: no notification is missing, some may arrive twice.
        case resend
        /// The notification ends as `uncertain`: none arrives twice, some may be missing.
        case report
    }

    /// The reaction to bursts of rejections that count against a connection: BadDeviceToken, DeviceTokenNotForTopic and
    /// status 403. APNs closes connections for them ("Handling notification responses from APNs").
    public struct CircuitBreaker: Sendable, Hashable {
        /// How many rejections in a row, without another answer in between, stop sending for a while. At least 1.
        public var threshold = 100
        /// The first and the longest pause. The pause doubles in between.
        public var pause: ClosedRange<Duration> = .seconds(1) ... .seconds(30)
        /// How many notifications are tried after a pause. If all of them are rejected, the next pause is longer. At
        /// least 1.
        public var trial = 50

        /// Creates the default options.
        public init() {}
    }

    /// The number of connections, at least 1. Another connection is made only when all others are full and APNs has
    /// raised their limit of streams.
    public var maxConnections = 1
    /// How many requests may be under way on one connection: 1 to 100,000. The limit in APNs' SETTINGS applies, too.
    public var maxStreams = 1000
    /// How long connecting may take: name look-up, TCP, proxy and TLS together. The first SETTINGS may take the same
    /// time again. More than 0: there is always a limit.
    public var connectTimeout: Duration = .seconds(10)
    /// How long APNs may take for one answer.
    public var attemptTimeout: Duration = .seconds(10)
    /// How long a notification may take from submission to its outcome, all attempts together. The answer to the last
    /// attempt may come later. A notification that is not written in time ends with APNs' last refusal; without one, as
    /// `undelivered(.deadline)`, or with `.noConnection` or `.credentials` if those were missing.
    public var deadline: Duration = .seconds(60)
    /// How long a written request waits for a late answer, if that is longer than ``attemptTimeout``. It waits only as
    /// long as the peer answers PINGs, and new requests go to another connection meanwhile: when the peer has answered
    /// nothing for ``attemptTimeout``, or a PING for 2 s. Nil: a request is given up after ``attemptTimeout``.
    public var lateAnswerLimit: Duration?
    /// How long the peer may be silent before a PING. It keeps a NAT on the path from forgetting the connection: Azure's
    /// forgets after 240 s, Amazon's after 350 s. At least 100 ms.
    public var pingInterval: Duration = .seconds(200)
    /// How long the peer may be silent before a PING goes first, and no request before its answer. A path that has
    /// forgotten the connection then costs no notification. If the answer takes longer than 1 s and four known round
    /// trips, the requests go to a new connection. Time in which the process or the machine slept counts. At least 100
    /// ms.
    public var idleCheck: Duration = .seconds(30)
    /// The behaviour for a request when nothing says whether APNs processed it.
    public var onUnknown: UnknownPolicy = .report
    /// How many connections in a row may fail, or end without an answer. After one more, queued notifications end as
    /// `undelivered(.noConnection)`. Nil: no limit.
    public var connectionRetryLimit: Int? = 10
    /// How long connections in a row may fail so, from the start of the first. The first failure after that time gives
    /// up the queue, too. Nil: no limit. The last attempt begins within this time, and may take ``connectTimeout``.
    public var connectionRetryTime: Duration?
    /// Whether to go on after an error that no retry can mend (``ProviderError/isLasting``). If not, it ends what is queued
    /// at once, as `undelivered(.noConnection)` or `undelivered(.credentials)`.
    public var retriesLastingErrors = false
    /// The first and the longest wait after a failed connection, and after a GOAWAY with ENHANCE_YOUR_CALM. The wait
    /// doubles in between. A random factor makes each wait 75 to 100 % of that.
    public var backOff: ClosedRange<Duration> = .milliseconds(250) ... .seconds(30)
    /// The shortest time between two notifications to one device. For a device that it cannot reach, APNs keeps one
    /// notification, and a newer one overwrites it. Nil: no pacing. At most 65,536 devices are paced at a time:
    /// notifications to further devices do not wait.
    public var devicePacing: Duration?
    /// Nil: bursts of rejections do not stop sending.
    public var circuitBreaker: CircuitBreaker? = CircuitBreaker()
    /// How many notifications may wait to be written, or for their outcome to be read. At least 1. Notifications beyond
    /// it wait in `submit`.
    public var queueLimit = 8192
    /// Whether the event loop reads the socket for up to 100 µs before it sleeps, while SETTINGS allow at most four
    /// requests and others wait. It makes one stream over loopback three times as fast, and delays everything else on
    /// the event loop. Useful if provider and server run on one computer with processors to spare.
    public var looksBeforeSleeping = false
    /// How many notifications may wait for their next attempt. If APNs asks to delay more, they end with APNs' answer.
    /// They count for ``queueLimit``.
    public var delayLimit = 4096

    /// Creates the default options.
    public init() {}
}

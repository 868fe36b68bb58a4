/// The options of a provider that moves from the binary protocol to HTTP/2.
public struct MigrationOptions: Sendable, Hashable {
    /// What happens to the notifications of a side that cannot deliver.
    public struct Fallback: Sendable, Hashable {
        /// How long a side with notifications to send may be without a usable connection until it is down. A side is down at
        /// once when its credentials are refused, or when it gives up.
        public var downAfter: Duration = .seconds(5)
        /// How often the devices of one group, 1/4096 of all, try a side that is down. Once the peer has accepted or rejected
        /// one of their notifications, all devices of the side return.
        public var trialInterval: Duration = .seconds(30)
        /// Whether notifications go over that may have arrived: some may then arrive twice, with different `apns-id`s. The
        /// binary protocol has none.
        public var includesUnknown = false

        /// The default fallback.
        public init() {}
    }

    /// Which notifications go over which protocol, at first: see ``MigrationRule``.
    public var rule: MigrationRule
    /// Whether the other side takes over what a side certainly did not deliver, for want of a connection or of credentials.
    /// No notification goes over twice. Nil: each side keeps what it has.
    public var fallback: Fallback?
    /// How long a notification may take from its submission until it is written, on both sides together. Nil: each side has its
    /// own `deadline`.
    public var deadline: Duration?
    /// What becomes of a notification that its side cannot take, and the other can: a payload that is too long, a push type
    /// that the binary protocol does not know, a topic that is not the certificate's. If true, it goes over the other side, and
    /// its device stays where it is. If false, it is rejected.
    public var sendsElsewhere = true
    /// How long APNs tries to deliver a notification that names no expiration, over either protocol. Zero: one try. Without this
    /// option the binary protocol would try once, and HTTP/2 for as long as Apple's default.
    public var defaultExpiration: Duration = .zero
    /// How many notifications may wait to be written, on both sides together, or for their outcome to be read. At least 1.
    /// Notifications beyond it wait in `submit`.
    public var queueLimit = 65_536

    /// - Parameter rule: which notifications go over which protocol, at first.
    public init(rule: MigrationRule = MigrationRule(share: 0)) {
        self.rule = rule
    }
}

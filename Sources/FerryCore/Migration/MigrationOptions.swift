/// The options of a provider that moves from the binary protocol to HTTP/2.
public struct MigrationOptions: Sendable, Hashable {
    /// The treatment of notifications of a side that cannot deliver.
    public struct Fallback: Sendable, Hashable {
        /// How long a side with notifications to send may be without a usable connection until it is down. A side is down at
        /// once when its credentials are refused, or when it gives up.
        public var downAfter: Duration = .seconds(5)
        /// How often the devices of one group, 1/4096 of all, try a side that is down. Once the peer has accepted or rejected
        /// one of their notifications, all devices of the side return.
        public var trialInterval: Duration = .seconds(30)
        /// Whether notifications that may have arrived go over, too. Some may then arrive twice, with different
        /// `apns-id`s. The binary protocol has none.
        public var includesUnknown = false

        /// The default fallback.
        public init() {}
    }

    /// The protocol of each notification at first; see ``MigrationRule``.
    public var rule: MigrationRule
    /// The fallback: the other side takes over the notifications that a side certainly did not deliver, because it had
    /// no connection or credentials. No notification goes over twice. Nil if each side keeps its own.
    public var fallback: Fallback?
    /// How long a notification may take from its submission until it is written, on both sides together; nil if each
    /// side has its own `deadline`.
    public var deadline: Duration?
    /// Whether a notification that only the other side can take goes over that side: one with a payload that is too
    /// long, a push type that the binary protocol does not have, or a topic that is not the certificate's. Its device
    /// stays where it is. If false, the notification is rejected.
    public var sendsElsewhere = true
    /// How long APNs tries to deliver a notification without an expiration, over either protocol. Zero is one try.
    /// Without this option the binary protocol would try once, and HTTP/2 for as long as Apple's default.
    public var defaultExpiration: Duration = .zero
    /// How many notifications may wait to be written, on both sides together, or for their outcome to be read. At least 1.
    /// Notifications beyond it wait in `submit`.
    public var queueLimit = 65_536

    /// - Parameter rule: the protocol of each notification at first.
    public init(rule: MigrationRule = MigrationRule(share: 0)) {
        self.rule = rule
    }
}

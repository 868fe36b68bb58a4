/// The two protocols of a migration side by side.
///
/// The devices of the two sides differ, so a difference between two rates may be one between devices. Compare rates with
/// ``MigrationRate/interval``.
public struct MigrationReport: Sendable, Hashable {
    /// The figures of one side.
    public struct Side: Sendable, Hashable {
        /// The outcomes of the side. An acceptance over the binary protocol is mostly presumed.
        public var outcomes = OutcomeCounts()
        /// The causes for which notifications were not accepted.
        public var causes = OutcomeCauses()
        /// The number of outcomes that turned out wrong. Each was an acceptance before; see ``correctedAcceptances``.
        public var contradicted = 0
        /// The number of notifications that the side took because the other cannot take them.
        public var forced = 0
        /// The number of notifications that the side could not deliver, and that the other took over.
        public var wentOver = 0

        /// The number of entries of the binary feedback list that were given to the provider; 0 over HTTP/2. The list may name a
        /// device more than once.
        public var feedback = 0
        /// How long notifications took from their submission until they were written, each copy by itself.
        public var timeToWrite = DurationHistogram()
        /// How long notifications took from the write to the peer's answer, or to the proof of an acceptance. Over the
        /// binary protocol a probe proves acceptances at the end of a run. The time then includes the settle time.
        public var timeToAnswer = DurationHistogram()
        /// How long notifications took from the write to an acceptance that rests on silence. It is a round trip and
        /// the settle time, and shows nothing about the peer's speed.
        public var timeToPresume = DurationHistogram()

        /// Nothing.
        public init() {}

        /// The acceptances that were not contradicted.
        public var correctedAcceptances: Int { max(self.outcomes.accepted - self.contradicted, 0) }

        /// The number of notifications to devices that the peer calls dead: status 8 and BadDeviceToken, Unregistered
        /// and ExpiredToken (410), and ``feedback``. The two protocols report it differently, so compare this number
        /// and not its parts.
        public var deadDevices: Int {
            self.causes.rejected.reduce(self.feedback) { sum, cause in
                cause.key == .badDeviceToken || cause.key.isOfGoneDevice ? sum + cause.value : sum
            }
        }

        /// The acceptances that were not contradicted, of all outcomes.
        public var acceptanceRate: MigrationRate { MigrationRate(self.correctedAcceptances, of: self.outcomes.settled) }

        /// The dead devices, of all outcomes.
        public var deadDeviceRate: MigrationRate { MigrationRate(self.deadDevices, of: self.outcomes.settled) }
    }

    /// The figures of both sides over one time.
    public struct Period: Sendable, Hashable {
        /// The binary protocol.
        public var binary = Side()
        /// HTTP/2.
        public var http2 = Side()

        /// Nothing.
        public init() {}

        /// The figures of one side.
        public subscript(side: ProviderSide) -> Side {
            get {
                switch side {
                case .binary: self.binary
                case .http2: self.http2
                }
            }
            set {
                switch side {
                case .binary: self.binary = newValue
                case .http2: self.http2 = newValue
                }
            }
        }
    }

    /// The share of devices over HTTP/2, in percent, as the rule has it now.
    public var share: Double
    /// The figures over the provider's whole life.
    public var life = Period()
    /// The figures since the rule last changed.
    public var sinceChange = Period()
    /// The number of device groups, each 1/4096 of all devices, that wait until their earlier notifications have an outcome on
    /// the side that they leave.
    public var movingGroups = 0
    /// The number of notifications that wait for these groups.
    public var waiting = 0
    /// The sides that are down.
    public var down: Set<ProviderSide> = []

    package init(share: Double) {
        self.share = share
    }

    /// Starts the counts of ``sinceChange`` again.
    package mutating func startPeriod(share: Double) {
        self.share = share
        self.sinceChange = Period()
    }

    /// Adds the figures of another event loop, which has the same rule.
    package mutating func add(_ other: MigrationReport) {
        for side in ProviderSide.allCases {
            self.life[side].add(other.life[side])
            self.sinceChange[side].add(other.sinceChange[side])
        }
        // Each loop has some devices of each group.
        self.movingGroups = max(self.movingGroups, other.movingGroups)
        self.waiting += other.waiting
        self.down.formUnion(other.down)
    }

    package mutating func update(_ side: ProviderSide, _ change: (inout Side) -> Void) {
        change(&self.life[side])
        change(&self.sinceChange[side])
    }
}

extension MigrationReport.Side {
    fileprivate mutating func add(_ other: MigrationReport.Side) {
        self.outcomes.add(other.outcomes)
        self.causes.add(other.causes)
        self.contradicted += other.contradicted
        self.forced += other.forced
        self.wentOver += other.wentOver
        self.feedback += other.feedback
        self.timeToWrite.add(other.timeToWrite)
        self.timeToAnswer.add(other.timeToAnswer)
        self.timeToPresume.add(other.timeToPresume)
    }
}

package import FerryCore
package import FerryGateway

/// An event of a process that owns shards, for operators.
package enum ShardEvent: Hashable, Sendable {
    /// The process owns the shard, and listens on its ports.
    case taken(shard: Int)
    /// Another process owns the shard. This one hands over what it has read.
    case fenced(shard: Int)
    /// The shard is given up. If it is freed, another process may take it at once.
    case released(shard: Int, isFreed: Bool)
    /// Everything that this process had read is handed over to the shard's new owner.
    case handedOver(shard: Int)
    /// Another node shall have the shard.
    case wanted(shard: Int, by: String)
    /// The right to forward has ended: PostgreSQL does not extend it, or another process owns the shard.
    case stopped(shard: Int)
    /// The right to forward is back.
    case resumed(shard: Int)
    /// A fault of PostgreSQL. The shard is nil if the fault is not about one shard. The text has one sentence, or one
    /// for each server that was tried.
    case trouble(shard: Int?, String)
    /// PostgreSQL answers the process again.
    case answered
    /// The shard cannot be served here, for the reason in this text. Another try follows after a minute.
    case refused(shard: Int, String)
    /// For 10 s, no process has owned the shard, or this process has been in recovery.
    case ownerless(shard: Int)
    /// Another process has the name of this one. It is connected from this address.
    case namesake(address: String)
    /// The difference between this machine's clock and PostgreSQL's, in seconds; positive if this machine's is ahead.
    /// The event comes when the difference grows beyond 5 s.
    case clock(seconds: Int)
    /// The balancer sends a client to two shards. The event comes at most once a minute for each client and address,
    /// from one process.
    case misrouted(ClientAddress, shards: [Int])
}

/// The figures of a process that owns shards.
package struct ShardFigures: Sendable {
    package struct Owned: Sendable {
        package var shard: Int
        /// The time for which the right to forward is left, in seconds.
        package var rightSeconds = 0.0
        /// The acknowledged commits that are kept, in bytes.
        package var ringLength = 0
        /// The times from a commit to PostgreSQL's answer.
        package var appends = TimeHistogram()
        package var segments = 0
        package var counts = FateCounts()
        package var connections = 0
        /// The notifications that APNs has and has not answered.
        package var underWay = 0

        package init(_ shard: Int) { self.shard = shard }
    }

    package var owned: [Owned] = []
    package var takes = 0
    package var returns = 0
    package var fenced = 0
    /// The notifications that were written without the right, of all shards that this process has owned.
    package var sentWithoutRight = 0
    /// The number of shards that had an ``ShardEvent/ownerless(shard:)`` event and have not been served since.
    package var ownerless = 0
    /// How far the clock of this machine was ahead of PostgreSQL's at the last look, in seconds.
    package var clockSeconds = 0
    /// The number of ``ShardEvent/misrouted(_:shards:)`` events.
    package var misrouted = 0
    /// Whether the last look at the shards was answered.
    package var isPostgresUp = false
    /// The notifications in late segments, of all shards that this process has owned.
    package var late = GatewayFigures.Late()

    package init() {}
}

package import NIOCore

/// The times and bounds of the owners of shards. They depend on each other: ``right`` is shorter than ``idle`` and
/// ``grace``, so an owner has stopped before another process can begin.
package struct ShardRules: Sendable {
    package static let standard = ShardRules()

    /// The time from one beat of an owner to the next. A late answer delays the next beat. After an answer full of
    /// late segments, the next beat follows at once.
    package internal(set) var beat = TimeAmount.milliseconds(500)
    /// How long an owner may forward after it sent the last statement that was answered.
    package internal(set) var right = TimeAmount.seconds(3)
    /// If a session owes an answer and gives none for this time, the owner closes the session. Connecting may take as
    /// long.
    package internal(set) var deadline = TimeAmount.seconds(3)
    /// `idle_session_timeout` of the owner's session.
    package internal(set) var idle = TimeAmount.seconds(4)
    /// How long a shard must be free before another process takes it, if it was not given up.
    package internal(set) var grace = TimeAmount.seconds(4)
    /// The time between two looks for free shards.
    package internal(set) var look = TimeAmount.milliseconds(500)
    /// The additional wait before a take, for each shard that the process owns.
    package internal(set) var spread = TimeAmount.milliseconds(500)
    /// The longest additional wait, so that the last machine takes all shards in a few seconds.
    package internal(set) var widestSpread = TimeAmount.seconds(2)
    /// The time between two tries to connect, or to take a shard back.
    package internal(set) var retry = TimeAmount.milliseconds(200)
    /// The time before the next try after a refused statement. It is longer than ``retry``, because the next
    /// statement is probably refused, too.
    package internal(set) var refusedRetry = TimeAmount.seconds(1)
    /// PostgreSQL counts as away when it has given no answer for this time and the right has ended. In this time a
    /// process that was paused hears whether it is fenced.
    package internal(set) var silence = TimeAmount.seconds(1)
    /// How long a shard that another node shall have is left alone.
    package internal(set) var rest = TimeAmount.seconds(10)
    /// How long a shard that this node could not serve is left alone.
    package internal(set) var refusal = TimeAmount.minutes(1)
    /// How long the owner keeps an answered commit, to write it again after a failover.
    package internal(set) var ring = TimeAmount.seconds(10)
    /// The largest length of the answered commits that the owner keeps, in bytes.
    package internal(set) var ringLength = 64 << 20
    /// The largest number of commits without an answer on a session. After a kill, the server works through these
    /// commits, and holds the lock meanwhile.
    package internal(set) var underWay = 16

    /// How long the owner collects late segments at most. A longer time would pass them on only after the former owner
    /// has closed its clients.
    package internal(set) var late = TimeAmount.seconds(1)
    /// A commit that was handed over is settled when PostgreSQL answers a beat that was sent this long after the
    /// commit's answer. A failover that loses more than this time may still lose the commit.
    package internal(set) var settle = TimeAmount.milliseconds(300)

    /// Whether old commits are written before new ones after a come-back.
    var keepsOrder = true
    /// Whether an owner that was away for the grace waits until no other process can have the right.
    var restsAfterAbsence = true
    /// Whether a fenced owner keeps what it has handed over until it is settled.
    var handsOverAgain = true
    /// Whether a try to come back has a deadline.
    var returnHasDeadline = true
    /// Whether a free shard must stay free under one term.
    var comparesTerms = true
}

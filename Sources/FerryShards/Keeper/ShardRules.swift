package import NIOCore

/// The times and bounds of the owners of shards. They depend on each other: ``right`` is shorter than ``idle`` and
/// ``grace``, so an owner has stopped before another process can begin.
package struct ShardRules: Sendable {
    package static let standard = ShardRules()

    /// The owner sends a beat at least so often.
    package internal(set) var beat = TimeAmount.milliseconds(500)
    /// The owner forwards until so long after it sent the last statement that was answered.
    package internal(set) var right = TimeAmount.seconds(3)
    /// A session that owes an answer, and has given none for so long, is given up. Connecting may take as long.
    package internal(set) var deadline = TimeAmount.seconds(3)
    /// `idle_session_timeout` of the owner's session.
    package internal(set) var idle = TimeAmount.seconds(4)
    /// A shard that was not given up is taken after it was free for so long.
    package internal(set) var grace = TimeAmount.seconds(4)
    /// A process looks for free shards so often.
    package internal(set) var look = TimeAmount.milliseconds(500)
    /// A process waits so much longer for each shard that it owns.
    package internal(set) var spread = TimeAmount.milliseconds(500)
    /// A process waits no longer for its own shards than this. The last machine takes all shards in a few seconds.
    package internal(set) var widestSpread = TimeAmount.seconds(2)
    /// The time between two tries to connect, or to take a shard back.
    package internal(set) var retry = TimeAmount.milliseconds(200)
    /// The same time after a refused statement, because the next try is probably refused, too.
    package internal(set) var refusedRetry = TimeAmount.seconds(1)
    /// PostgreSQL counts as away after so long without a word from it, if the right has ended, too. A process that was
    /// paused hears meanwhile whether it is fenced.
    package internal(set) var silence = TimeAmount.seconds(1)
    /// A shard that another node shall have is left alone for so long.
    package internal(set) var rest = TimeAmount.seconds(10)
    /// A shard that this node could not serve is left alone for so long.
    package internal(set) var refusal = TimeAmount.minutes(1)
    /// The owner keeps a commit for so long after its answer, to write it again.
    package internal(set) var ring = TimeAmount.seconds(10)
    /// The owner keeps so many bytes of answered commits at most.
    package internal(set) var ringLength = 64 << 20
    /// The largest number of commits without an answer on a session. After a kill, the server works through these
    /// commits, and holds the lock meanwhile.
    package internal(set) var underWay = 16

    /// The owner collects late segments for so long at most. Then it has passed them on before the former owner closes its
    /// clients.
    package internal(set) var late = TimeAmount.seconds(1)

    /// Whether old commits are written before new ones after a come-back.
    var keepsOrder = true
    /// Whether an owner that was away for the grace waits until no other can have the right.
    var restsAfterAbsence = true
    /// Whether a try to come back has a deadline.
    var returnHasDeadline = true
    /// Whether a free shard must stay free under one term.
    var comparesTerms = true
}

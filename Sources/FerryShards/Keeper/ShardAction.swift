package import FerryGateway
package import NIOCore

/// A session of a keeper with PostgreSQL. A keeper uses a number once.
package struct ShardSession: Hashable, Sendable {
    package let number: Int
}

/// An input of ``ShardKeeper``. An input about an old session counts as ``timePassed``.
package enum ShardInput: Sendable {
    /// The session is open, with all its settings.
    case connected(ShardSession)
    /// The session could not be opened, or has ended.
    case ended(ShardSession)
    /// The answer to the oldest unanswered statement of the session.
    case answered(ShardSession, ShardAnswer)
    /// A commit, with the next number. The gateway waits for at most 16 answers at a time.
    case commit(StoreCommit)
    /// The gateway has ended, and makes no more commits.
    ///
    /// - Parameter isClean: whether each notification that went to APNs has its answer. If so, another process may take
    ///   the shard at once.
    case finish(isClean: Bool)
    /// The process ends now. Commits without an answer get ``StoreAnswer/unavailable(_:)``.
    case abandon
    /// The time of ``ShardKeeper/deadline`` has come.
    case timePassed
}

/// An effect that the owner of ``ShardKeeper`` carries out, in order.
package enum ShardAction: Hashable, Sendable {
    /// Open a session with the settings of an owner, and pass `connected` or `ended`.
    case connect(ShardSession)
    /// End the session at once, without waiting for its answers. The keeper needs no more inputs about it.
    case close(ShardSession)
    /// Send the statement on the session, behind those that were sent before. Up to 18 may be without an answer.
    case send(ShardStatement, ShardSession)
    /// The shard is taken. Recover from its segments, and then pass commits. Segments may be read on the keeper's session,
    /// between its statements, some megabytes at a time.
    case owns(ShardTaken)
    /// A former owner handed over these segments. When the gateway has recovered, pass commits that take all of them
    /// over. No segment is in two of these actions.
    case late([StoredSegment])
    /// The answer to the commit with this number, in the order of the commits. With `fenced`, the new owner has the
    /// commit, or gets it.
    case answer(UInt64, StoreAnswer)
    /// The right to forward has changed.
    case right(ShardRight)
    /// The node with this name shall have the shard: end the gateway, and then pass `finish`.
    case wanted(by: String)
    /// Another process owns the shard. Take back what was not sent to APNs, pass the last commits, and then `finish`.
    case fenced
    /// PostgreSQL refused a statement. After a refused take, the keeper ends. An owner tries again on a new session.
    /// The text is for operators.
    case trouble(String)
    /// The keeper has ended. No action follows.
    case over(ShardEnding)
}

/// The right to send notifications to APNs.
package enum ShardRight: Hashable, Sendable {
    /// Notifications may be sent before this time. With the distant past, there is no right.
    case until(NIODeadline)
    /// PostgreSQL is away: send what was read, although it is not durable. Write no error responses to clients.
    case fromMemory

    package static let none = ShardRight.until(.distantPast)
}

/// The reason why a keeper has ended.
package enum ShardEnding: Hashable, Sendable {
    /// The shard could not be taken: another process has it, or PostgreSQL refused or did not answer.
    case notTaken
    /// The shard is given up. If it is freed, another process may take it at once.
    case released(isFreed: Bool)
    /// Another process owns the shard, and all commits are handed over.
    case handedOver
    /// The process ended first. `mayLoseHandOver`: a fenced owner had commits that were not handed over, or not
    /// settled: see ``ShardRules/settle``.
    case abandoned(mayLoseHandOver: Bool)
}

/// The behaviour of an owner while PostgreSQL is away: `store.away` of the configuration.
package enum ShardAway: String, Sendable, CaseIterable {
    /// The owner forwards nothing.
    case wait
    /// The owner forwards from memory.
    case serve
}

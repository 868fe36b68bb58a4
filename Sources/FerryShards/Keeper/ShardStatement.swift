package import FerryGateway
internal import FerryPlatform

/// A term of a shard's owner: a UUID in lower case, as PostgreSQL writes it. Each take and each come-back has a new one.
package struct ShardTerm: Hashable, Sendable {
    package let text: String

    package init(_ text: String) { self.text = text }

    package static func random() -> ShardTerm { ShardTerm(UUID().uuidString.lowercased()) }
}

/// A statement of a shard's keeper. Each is a transaction of its own.
package enum ShardStatement: Hashable, Sendable {
    /// `ferry.take`. The answer is ``ShardAnswer/taken(_:)``.
    ///
    /// - Parameter seen: the term under which the shard was seen free. Under another term it is not taken, because an
    ///   owner came back or took it meanwhile.
    case take(seen: ShardTerm)
    /// `ferry.retake`. The answer is ``ShardAnswer/retaken(_:)``.
    ///
    /// - Parameters:
    ///   - terms: all terms of this owner, with `fresh`.
    ///   - epoch: the epoch of its take.
    ///   - fresh: the next term. Later tries name it, too, because the answer to this one may be lost.
    case retake(terms: [ShardTerm], epoch: UInt64, fresh: ShardTerm)
    /// `ferry.append`. The answer is ``ShardAnswer/appended(isOwner:)``.
    case append(StoreCommit, terms: [ShardTerm])
    /// The statement that asks for late segments and for the node that wants the shard. The answer is
    /// ``ShardAnswer/beat(_:)``. A fenced owner only wants to know whether its session still answers.
    ///
    /// - Parameter known: the late segments that the gateway has. The answer leaves them out. Otherwise segments that
    ///   cannot be taken over would hide the others.
    case beat(term: ShardTerm, known: Set<UInt64> = [])
    /// The statement that sets `freed`. The answer is ``ShardAnswer/freed``.
    case free(term: ShardTerm)
}

/// The answer to a statement.
package enum ShardAnswer: Hashable, Sendable {
    /// nil: another session has the lock, or the shard has another term.
    case taken(ShardTaken?)
    case retaken(ShardReturn)
    /// False: this owner was fenced. If the new owner lacks the segment, it is now in `ferry.late`.
    case appended(isOwner: Bool)
    /// nil: there is no row, so this session is not the owner's.
    case beat(ShardBeat?)
    case freed
    /// PostgreSQL refused the statement. The text is one sentence for operators.
    case failed(String)
}

/// The row of a take.
package struct ShardTaken: Hashable, Sendable {
    /// A random number that the shard keeps for ever. The `apns-id` of each notification comes from it.
    package var node: UInt64
    /// Segments, connections and jobs of the owner have numbers from `epoch << 40`.
    package var epoch: UInt64
    package var term: ShardTerm
    /// The term that the take replaced.
    package var before: ShardTerm

    package init(node: UInt64, epoch: UInt64, term: ShardTerm, before: ShardTerm) {
        self.node = node
        self.epoch = epoch
        self.term = term
        self.before = before
    }
}

/// The answer to an owner that comes back.
package enum ShardReturn: Hashable, Sendable {
    /// The process is still the owner, under this term. PostgreSQL has its commits up to `last`, the largest number of a
    /// segment; nil: it has no segment.
    case owner(ShardTerm, last: UInt64?)
    /// A session has the lock. If it is an earlier one of this owner, the statement ends it.
    case busy
    /// Another process has owned the shard since.
    case fenced
}

/// The rows of a beat.
package struct ShardBeat: Hashable, Sendable {
    /// The largest number of late segments in one answer.
    package static let limit = 16

    /// The first segments that a former owner handed over and that no commit has taken over, in ascending order.
    package var late: [StoredSegment]
    /// The node that shall have the shard next.
    package var wanted: String?

    package init(late: [StoredSegment] = [], wanted: String? = nil) {
        self.late = late
        self.wanted = wanted
    }
}

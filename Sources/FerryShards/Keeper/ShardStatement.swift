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
    /// - Parameter seen: the term under which the shard was seen free. A shard with another term is not taken,
    ///   because an owner came back or took the shard meanwhile.
    case take(seen: ShardTerm)
    /// `ferry.retake`. The answer is ``ShardAnswer/retaken(_:)``.
    ///
    /// - Parameters:
    ///   - terms: the remembered terms of this owner and of its tries, with `fresh`.
    ///   - epoch: the epoch of the owner's take.
    ///   - fresh: the next term. Later tries have this term among their `terms`, because the answer to this try may
    ///     be lost.
    case retake(terms: [ShardTerm], epoch: UInt64, fresh: ShardTerm)
    /// `ferry.append`. The answer is ``ShardAnswer/appended(isOwner:)``.
    case append(StoreCommit, terms: [ShardTerm])
    /// The statement that asks for late segments and for the node that wants the shard. The answer is
    /// ``ShardAnswer/beat(_:)``. A fenced owner only wants to know whether its session still answers.
    ///
    /// - Parameter known: the numbers of the late segments that the gateway has or gets. The answer leaves them out.
    ///   Otherwise segments that cannot be taken over could fill each answer, and hide all later segments.
    case beat(term: ShardTerm, known: Set<UInt64> = [])
    /// The statement that sets `freed`. The answer is ``ShardAnswer/freed``.
    case free(term: ShardTerm)
}

/// The answer to a statement.
package enum ShardAnswer: Hashable, Sendable {
    /// nil: another session has the lock, or the shard has another term.
    case taken(ShardTaken?)
    case retaken(ShardReturn)
    /// False: this owner was fenced. If the new owner lacks the segment, the segment is now in `ferry.late`.
    case appended(isOwner: Bool)
    /// nil: there is no row, so this session is not the owner's.
    case beat(ShardBeat?)
    case freed
    /// PostgreSQL refused the statement, or its answer has no value. The text is one sentence for operators.
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
    /// The process is still the owner, under this term. PostgreSQL has the owner's commits up to `last`, the largest
    /// number of a segment; nil: the shard has no segment.
    case owner(ShardTerm, last: UInt64?)
    /// A session has the lock. The statement ends this session if it is an earlier session of this owner.
    case busy
    /// Another process has taken the shard meanwhile.
    case fenced
}

/// The rows of a beat.
package struct ShardBeat: Hashable, Sendable {
    /// The largest number of late segments in one answer.
    package static let limit = 16

    /// The first late segments that no commit has taken over, without those that the beat named as known. Their
    /// numbers ascend.
    package var late: [StoredSegment]
    /// The node that shall have the shard next; nil if no node was named.
    package var wanted: String?

    package init(late: [StoredSegment] = [], wanted: String? = nil) {
        self.late = late
        self.wanted = wanted
    }
}

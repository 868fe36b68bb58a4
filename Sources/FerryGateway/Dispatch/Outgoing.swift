internal import DequeModule
internal import FerryCore

/// The connection over which notifications go to an upstream.
package enum UpstreamWay: Hashable, Sendable {
    /// The connection that all clients share.
    case common(upstream: Int)
    /// A connection for suspicious flows and for copies.
    case side(SideID)
}

/// The identifier of a side connection. An upstream never uses a number twice.
package struct SideID: Hashable, Sendable {
    package let upstream: Int
    package let number: UInt64
}

/// The notifications that wait for an upstream, for the common connection and for the side connection.
///
/// ```
///   flow 1 ─┐
///   flow 3 ─┼─ turns ──▶ common connection
///   flow 4 ─┘
///   flow 2 ─┬─ turns ──▶ side connection
///   copies ─┘
/// ```
///
/// Without turns, a client that sends a million notifications at once would delay every other client until all of
/// them are sent.
final class Outgoing {
    /// The flows that have notifications and credit, the next one first.
    var common: Deque<Int> = []
    /// The number of notifications that APNs has taken over the common connection.
    var taken: UInt64 = 0
    /// The number of notifications that are at the upstream, or in one of the batches.
    var underWay = 0
    /// The suspicious flows that have notifications, the next one first.
    var suspects: Deque<Int> = []
    /// The copies that must not go over the connection of an earlier attempt.
    var copies = Copies()
    /// The next notifications over the common connection.
    var batch = PushBatch()
    var side = SideConnection()
    /// The next notifications over the side connection ``sideNumber``.
    var sideBatch = PushBatch()
    var sideNumber: UInt64 = 0

    func append(_ job: borrowing Job, topic: [UInt8], as apnsID: APNSID, tag: UInt64, to side: UInt64?) {
        if let side {
            self.sideNumber = side
            Self.append(job, topic: topic, as: apnsID, tag: tag, to: &self.sideBatch)
        } else {
            Self.append(job, topic: topic, as: apnsID, tag: tag, to: &self.batch)
        }
    }

    /// Removes the notifications that no provider has taken, and returns the numbers of their jobs.
    func takeTags() -> [UInt64] { Self.takeTags(&self.batch) + Self.takeTags(&self.sideBatch) }

    private static func takeTags(_ batch: inout PushBatch) -> [UInt64] {
        let run = batch.takeFirst(.max)
        return (0..<run.count).map { run.entries[$0].tag }
    }

    private static func append(
        _ job: borrowing Job,
        topic: [UInt8],
        as apnsID: APNSID,
        tag: UInt64,
        to batch: inout PushBatch
    ) {
        let isTaken = job.bytes.withUnsafeBufferPointer { bytes in
            topic.withUnsafeBufferPointer { topic in
                batch.append(
                    token: UnsafeBufferPointer(rebasing: bytes[..<job.tokenLength]),
                    payload: UnsafeBufferPointer(rebasing: bytes[job.tokenLength...]),
                    topic: topic,
                    collapseID: UnsafeBufferPointer(start: nil, count: 0),
                    apnsID: apnsID,
                    pushType: nil,
                    priority: Priority(rawValue: job.priority),
                    expiration: Expiration(epochSeconds: job.expiration),
                    tag: tag
                )
            }
        }
        assert(isTaken, "a batch has room for a few turns")
    }
}

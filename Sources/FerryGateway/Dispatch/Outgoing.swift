internal import DequeModule
internal import FerryBinary
internal import FerryCore

/// A way to an upstream.
package enum UpstreamWay: Hashable, Sendable {
    /// The connection that all clients share.
    case common(upstream: Int)
    /// The connection of clients whose tokens are refused.
    case side(SideID)
}

/// A side connection. No number is used twice for an upstream.
package struct SideID: Hashable, Sendable {
    package let upstream: Int
    package let number: UInt64
}

/// What waits for an upstream to take it.
///
/// ```
///   lane 1 ─┐
///   lane 3 ─┼─ turns ──▶ common connection
///   lane 4 ─┘
///   lane 2 ─┬─ turns ──▶ side connection
///   copies ─┘
/// ```
///
/// Without turns, a client that sends a million notifications at once would delay all others until they are gone.
final class Outgoing {
    /// The lanes that have something, and credit for it, the next one first.
    var common: Deque<Int> = []
    /// The suspicious lanes that have something, the next one first.
    var suspects: Deque<Int> = []
    /// What may have arrived over a connection that may still be open, and so goes over a side connection.
    var copies = Copies()
    /// What goes next over the common connection.
    var batch = PushBatch()
    var side = SideConnection()
    /// What goes next over the side connection ``sideNumber``.
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

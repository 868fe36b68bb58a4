internal import FerryCore
internal import FerryGateway
internal import FerryMachine
internal import FerryOpenSSL
internal import NIOCore

/// The store of the feedback service of a process. It has no notifications, only the feedback rows of all shards.
struct FeedbackStore: SharedStore {
    private let feedback: PostgresFeedback
    /// The right to forward. It never begins, because the feedback service sends nothing to APNs.
    let right = ForwardingRight { .distantFuture }

    init(_ feedback: PostgresFeedback) { self.feedback = feedback }

    func open() -> StoreOpening {
        var generator = SystemRandomNumberGenerator()
        let key = (0..<KeyedHash.keyLength).map { _ in UInt8.random(in: 0...255, using: &generator) }
        return StoreOpening(node: generator.next(), epoch: 1, hashKey: key, last: 0)
    }

    func segments(after: UInt64) -> [StoredSegment] { [] }
    func rows(_ table: StoreTable) -> [StoreRow] { [] }
    func rows(_ table: StoreTable, after: [UInt8], limit: Int) -> [StoreRow] { [] }
    func rows(_ table: StoreTable, keys: [[UInt8]]) -> [StoreRow] { [] }

    func append(_ commit: StoreCommit, then: @escaping @Sendable (StoreAnswer) -> Void) {
        then(.unavailable("The feedback service takes no notifications."))
    }

    func onFenced(_ body: @escaping @Sendable () -> Void) {}
    func onLate(_ body: @escaping @Sendable ([StoredSegment]) -> Void) {}

    func feedback(of client: String) async throws(StoreError) -> any FeedbackClaim {
        try await self.feedback.take(client)
    }

    func close() {}
}

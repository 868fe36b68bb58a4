package import FerryMachine

/// A store that several gateways share. One gateway at a time owns the store. The owner may lose the store while it
/// runs, for example because its computer was paused.
///
/// ```
///   owner ──▶ onFenced ──▶ each commit is handed over, and answered `fenced` ──▶ close
/// ```
///
/// A former owner still has notifications that the new owner does not know, and goes on to append them. The store keeps
/// them for the new owner, which gets them with ``onLate(_:)``.
package protocol SharedStore: GatewayStore {
    /// The right of this process to send notifications. The store extends the right each time that the database shows
    /// that the process is still the owner.
    var right: ForwardingRight { get }

    /// Sets the closure that is called once, on any thread, when another process has the store; at once if another
    /// process has it already. Before the closure is called, the right has ended for good. The first answer
    /// ``StoreAnswer/fenced`` comes after the closure is called. From then on, the store hands each commit over, and
    /// tries until it can answer the commit. While the database cannot be reached, commits have no answer.
    func onFenced(_ body: @escaping @Sendable () -> Void)

    /// Sets the closure that gets the segments that a former owner handed over, in ascending order, on any thread. The
    /// closure gets a segment again and again, until a commit with the segment's number in ``StoreCommit/late`` is
    /// durable.
    func onLate(_ body: @escaping @Sendable ([StoredSegment]) -> Void)

    /// Takes the feedback rows of a client for one reader. Other readers do not get them until
    /// ``FeedbackClaim/giveBack()`` or the end of the process.
    ///
    /// - Parameter client: the name of the client in the store.
    func feedback(of client: String) async throws(StoreError) -> any FeedbackClaim
}

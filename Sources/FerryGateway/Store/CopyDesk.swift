internal import FerryCore

/// The one copy that a store makes at a time. Any thread.
///
/// The caller of a second copy gets its answer at once, although the store or the disk may hang.
final class CopyDesk: Sendable {
    private struct State {
        /// Whether the work for a copy is not over.
        var isMaking = false
    }

    private static let isTaken = StoreError("Another copy of the store is being made. Wait for its end.")

    private let state = Locked(State())

    /// Whether the work for a copy is not over.
    var isMaking: Bool { self.state.withLock { $0.isMaking } }

    /// Makes a copy by `work`, or throws at once if another one is being made.
    func make(
        _ work: @escaping @Sendable () async throws(StoreError) -> StoreCopy
    ) async throws(StoreError) -> StoreCopy {
        let isFree = self.state.withLock { state in
            defer { state.isMaking = true }
            return !state.isMaking
        }
        guard isFree else { throw Self.isTaken }
        defer { self.state.withLock { $0.isMaking = false } }
        return try await work()
    }
}

internal import FerrySQLite
internal import NIOPosix

/// A store in one SQLite file, on a thread of its own.
///
/// Beside the file stands another with the ending `-mark`: see ``HighWaterMark``. Rows and segments that were removed may
/// be read in the file until others take their place, so it is for its owner alone.
package final class SQLiteStore: GatewayStore {
    private let core: SQLiteStoreCore
    private let thread = NIOThreadPool(numberOfThreads: 1)

    /// - Parameters:
    ///   - path: the file; it is made if there is none.
    ///   - survivesPowerLoss: whether a commit waits for the disk. Without it a killed process loses nothing, and a loss
    ///     of power may lose the last commits.
    ///   - warn: gets a sentence about the store when it is opened, on the store's thread.
    package init(path: String, survivesPowerLoss: Bool = false, warn: @escaping @Sendable (String) -> Void = { _ in }) {
        self.core = SQLiteStoreCore(path: path, durability: survivesPowerLoss ? .power : .process, warn: warn)
        self.thread.start()
    }

    package func open() async throws(StoreError) -> StoreOpening {
        try await self.run { core throws(StoreError) in try core.open() }
    }

    package func segments(after: UInt64) async throws(StoreError) -> [StoredSegment] {
        try await self.run { core throws(StoreError) in try core.segments(after: after) }
    }

    package func rows(_ table: StoreTable) async throws(StoreError) -> [StoreRow] {
        try await self.run { core throws(StoreError) in try core.rows(table) }
    }

    package func append(_ commit: StoreCommit, then: @escaping @Sendable (StoreAnswer) -> Void) {
        self.thread.submit { state in
            guard case .active = state else { return then(.unavailable(SQLiteStoreCore.isClosed.description)) }
            then(self.core.append(commit))
        }
    }

    package func claim(_ claim: StoreClaim, epoch: UInt64, then: @escaping @Sendable (StoreAnswer) -> Void) {
        self.thread.submit { state in
            guard case .active = state else { return then(.unavailable(SQLiteStoreCore.isClosed.description)) }
            then(self.core.ask(epoch))
        }
    }

    package func close() async {
        // It fails only if the store was closed before.
        _ = try? await self.run { core throws(StoreError) in core.close() }
        try? await self.thread.shutdownGracefully()
    }

    private func run<Result: Sendable>(
        _ body: @escaping @Sendable (SQLiteStoreCore) throws(StoreError) -> Result
    ) async throws(StoreError) -> Result {
        let result: Swift.Result<Result, StoreError> = await withCheckedContinuation { continuation in
            self.thread.submit { state in
                guard case .active = state else {
                    return continuation.resume(returning: .failure(SQLiteStoreCore.isClosed))
                }
                continuation.resume(returning: Swift.Result { () throws(StoreError) in try body(self.core) })
            }
        }
        return try result.get()
    }
}

internal import FerrySQLite
internal import NIOPosix

/// A store in one SQLite file, with its own thread.
///
/// A second file with the ending `-mark` is beside it; see ``HighWaterMark``. The bytes of removed rows and segments,
/// with device tokens, stay in the file until other bytes overwrite them. So only the user of the process may read the
/// file.
package final class SQLiteStore: GatewayStore {
    private let core: SQLiteStoreCore
    private let thread = NIOThreadPool(numberOfThreads: 1)
    let desk = CopyDesk()

    /// - Parameters:
    ///   - path: the path of the file. The file is made if it does not exist.
    ///   - survivesPowerLoss: whether a commit waits for the disk. If false, a killed process loses nothing, but a
    ///     loss of power may lose the last commits.
    ///   - warn: gets a sentence about anything unusual when the store is opened, on the store's thread.
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

    package func rows(_ table: StoreTable, after: [UInt8], limit: Int) async throws(StoreError) -> [StoreRow] {
        try await self.run { core throws(StoreError) in try core.rows(table, after: after, limit: limit) }
    }

    package func rows(_ table: StoreTable, keys: [[UInt8]]) async throws(StoreError) -> [StoreRow] {
        try await self.run { core throws(StoreError) in try core.rows(table, keys: keys) }
    }

    package func append(_ commit: StoreCommit, then: @escaping @Sendable (StoreAnswer) -> Void) {
        self.thread.submit { state in
            guard case .active = state else { return then(.unavailable(SQLiteStoreCore.isClosed.description)) }
            then(self.core.append(commit))
        }
    }

    package func close() async {
        // The call fails only if the store was closed before.
        _ = try? await self.run { core throws(StoreError) in core.close() }
        try? await self.thread.shutdownGracefully()
    }

    func run<Result: Sendable>(
        _ body: @escaping @Sendable (SQLiteStoreCore) throws(StoreError) -> Result
    ) async throws(StoreError) -> Result {
        try await self.thread.result(unless: SQLiteStoreCore.isClosed) { () throws(StoreError) in try body(self.core) }
    }
}

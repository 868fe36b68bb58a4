internal import FerrySQLite
internal import NIOPosix

/// Copies of a store that is in use.
///
/// The process that has the store makes the copy, on the store's thread and with its one connection. SQLite before
/// 3.51.3 can damage a log when two connections write, so the file stays locked for other processes; see
/// ``SQLiteDatabase``. If a second connection made the copy, each commit would begin the copy anew. If one statement
/// made it, such as `VACUUM INTO`, every commit would wait for the whole copy.
///
/// ```
///   thread   commit │ step │ commit │ commit │ step │ … │ last step │ commit
///   copy     ───────────────────────────────────────────▶ draft ──▶ looked at, on the disk, named
/// ```
extension SQLiteStore {
    /// The time between two steps of a store in use. Commits are written in this time.
    private static let copyPause: Duration = .milliseconds(5)
    /// How long all steps of a store in use may take together. Without this limit, a slow disk would keep the store
    /// busy for ever.
    private static let copyLimit: Duration = .seconds(600)
    /// The thread for the files of copies. The common thread pool also looks up the names of hosts. If that pool
    /// waited for a slow disk, the gateway could not reach APNs. The thread for copies is never stopped, because the
    /// process would then wait for a disk that hangs.
    private static let fileThread: NIOThreadPool = {
        let pool = NIOThreadPool(numberOfThreads: 1)
        pool.start()
        return pool
    }()

    package func copy(to path: String) async throws(StoreError) -> StoreCopy {
        try await self.desk.make { () async throws(StoreError) -> StoreCopy in
            try await self.makeCopy(CopyFiles(path))
        }
    }

    package func giveUpCopy() { self.desk.giveUp() }

    private func makeCopy(_ files: CopyFiles) async throws(StoreError) -> StoreCopy {
        let claim = try await self.run { core throws(StoreError) in try core.claimCopy(files) }
        do {
            let copy = try await self.make(files, claim)
            await self.releaseCopy()
            return copy
        } catch {
            _ = try? await Self.besideTheStore { () throws(StoreError) in files.remove() }
            await self.releaseCopy()
            throw error
        }
    }

    /// Copies a store that no process has open. The store does not change, so the release that wrote it can still open
    /// it.
    package static func copy(storeAt store: String, to path: String) async throws(StoreError) -> StoreCopy {
        let store = SQLiteStore(path: store)
        do {
            try await store.run { core throws(StoreError) in try core.openForCopy() }
            let copy = try await store.copy(to: path)
            await store.close()
            return copy
        } catch {
            await store.close()
            throw error
        }
    }

    private func make(_ files: CopyFiles, _ claim: CopyClaim) async throws(StoreError) -> StoreCopy {
        let desk = self.desk
        try await Self.besideTheStore { () throws(StoreError) in try files.prepare(claim) }
        try await self.run { core throws(StoreError) in try core.beginCopy() }
        let copiedAt = try await self.copyPages(claim)
        return try await Self.besideTheStore { () throws(StoreError) in
            try files.finish(claim, copiedAt: copiedAt, desk)
        }
    }

    /// Copies all pages. Returns the time at which the copy was whole, in UNIX seconds.
    private func copyPages(_ claim: CopyClaim) async throws(StoreError) -> UInt32 {
        let end = ContinuousClock.now + Self.copyLimit
        var pace = CopyPace()
        while !claim.isInUse || ContinuousClock.now < end {
            try self.desk.requireWanted()
            let pages = claim.isInUse ? pace.pages : CopyPace.most
            switch try await self.run({ core throws(StoreError) in try core.stepCopy(pages: pages) }) {
            case .whole(let time): return time
            case .more(let remaining): pace.stepped(remaining: remaining)
            }
            if claim.isInUse { try? await Task.sleep(for: Self.copyPause) }
        }
        throw StoreError("The copy takes longer than 10 minutes, and was given up: the disk is too slow.")
    }

    private func releaseCopy() async {
        // The call fails only if the store was closed. Its close has ended the claim, too.
        _ = try? await self.run { core throws(StoreError) in core.releaseCopy() }
    }

    /// Runs `body` on a thread for which no commit waits, because finishing a copy reads all its bytes and waits for
    /// the disk.
    private static func besideTheStore<Result: Sendable>(
        _ body: @escaping @Sendable () throws(StoreError) -> Result
    ) async throws(StoreError) -> Result {
        try await self.fileThread.result(unless: SQLiteStoreCore.isClosed, of: body)
    }
}

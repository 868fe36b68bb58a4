internal import FerryCore
internal import FerrySQLite

extension AppStoreStore {
    /// The figures of the store. After a failed write, this call also tries a write. Without posts, nothing else would
    /// notice that the store can be written again.
    package var figures: AppStoreStoreFigures {
        get async throws(AppStoreStoreError) {
            let hasTrouble = self.writeTrouble.withLock { $0 != nil }
            if hasTrouble { await self.tryWriting() }
            let (destinations, kept) = try await self.reading { file throws(SQLiteError) in try file.figures() }
            return AppStoreStoreFigures(
                destinations: destinations,
                kept: kept,
                trouble: self.writeTrouble.withLock { $0 }
            )
        }
    }

    private func tryWriting() async {
        let isGood: Bool
        do throws(AppStoreStoreError) {
            isGood = try await self.reading { file throws(SQLiteError) in
                guard file.isInPlace else { return false }
                try file.tryWriting()
                return true
            }
        } catch {
            isGood = false
        }
        if isGood { self.writeTrouble.withLock { $0 = nil } }
    }
}

import FerryCore
import FerryMachine
import NIOCore

@testable import FerryGateway

/// One process's access to a shared ``MemoryStore``, for tests.
final class SharedMemoryStore: SharedStore {
    private struct Listeners {
        var onFenced: (@Sendable () -> Void)?
        var onLate: (@Sendable ([StoredSegment]) -> Void)?
    }

    let memory: MemoryStore
    let right: ForwardingRight
    private let listeners = Locked(Listeners())
    private let feedback = Locked<[String: [FeedbackRows.Row]]>([:])

    init(_ memory: MemoryStore = MemoryStore(isShared: true), right: ForwardingRight = .endless) {
        self.memory = memory
        self.right = right
    }

    func open() async -> StoreOpening { self.memory.take() }

    func segments(after: UInt64) async -> [StoredSegment] { self.memory.page(after: after) }

    func rows(_ table: StoreTable) async -> [StoreRow] { self.memory.all(table) }

    func rows(_ table: StoreTable, after: [UInt8], limit: Int) async -> [StoreRow] {
        self.memory.page(table, after: after, limit: limit)
    }

    func rows(_ table: StoreTable, keys: [[UInt8]]) async -> [StoreRow] { await self.memory.rows(table, keys: keys) }

    func append(_ commit: StoreCommit, then: @escaping @Sendable (StoreAnswer) -> Void) {
        self.memory.append(commit, then: then)
    }

    func onFenced(_ body: @escaping @Sendable () -> Void) { self.listeners.withLock { $0.onFenced = body } }

    func onLate(_ body: @escaping @Sendable ([StoredSegment]) -> Void) { self.listeners.withLock { $0.onLate = body } }

    func feedback(of client: String) async -> any FeedbackClaim {
        LoanedRows(self.feedback.withLock { $0.removeValue(forKey: client) ?? [] }) { rows in
            self.list(rows, of: client)
        }
    }

    func close() async { await self.memory.close() }

    // MARK: The database

    /// Lets another process take the store, and tells this one.
    func fence() {
        _ = self.memory.take()
        self.listeners.withLock { $0.onFenced }?()
    }

    /// Passes on what former owners have handed over.
    func beat() { self.listeners.withLock { $0.onLate }?(self.memory.late) }

    func list(_ rows: [FeedbackRows.Row], of client: String) {
        self.feedback.withLock { $0[client, default: []] += rows }
    }

    func rows(of client: String) -> [FeedbackRows.Row] { self.feedback.withLock { $0[client] ?? [] } }

    private final class LoanedRows: FeedbackClaim {
        let rows: [FeedbackRows.Row]
        private let isOpen = Locked(true)
        private let back: @Sendable ([FeedbackRows.Row]) -> Void

        init(_ rows: [FeedbackRows.Row], back: @escaping @Sendable ([FeedbackRows.Row]) -> Void) {
            self.rows = rows
            self.back = back
        }

        func read() { self.isOpen.withLock { $0 = false } }

        func giveBack() {
            let wasOpen = self.isOpen.withLock { isOpen in
                defer { isOpen = false }
                return isOpen
            }
            if wasOpen { self.back(self.rows) }
        }
    }
}

import FerryCore

@testable import FerryGateway

/// A store that ends with its process, for tests. It can be slow, full, or taken by another owner.
///
/// To act as a new process after a kill, open the same object again.
///
/// If the store is shared, it keeps the commits of a former owner as late segments.
final class MemoryStore: GatewayStore {
    private struct State {
        var epoch: UInt64 = 0
        var segments: [UInt64: [UInt8]] = [:]
        /// The number of the last commit.
        var last: UInt64 = 0
        var rows: [StoreTable: [[UInt8]: [UInt8]]] = [:]
        var late: [UInt64: [UInt8]] = [:]
        var done: Set<UInt64> = []
        var trouble: String?
        /// The first commit that was refused. Later ones are refused too, until it is repeated.
        var refused: (number: UInt64, reason: String)?
        var isHeld = false
        var held: [(work: @Sendable (inout State) -> StoreAnswer, then: @Sendable (StoreAnswer) -> Void)] = []
    }

    private let node: UInt64
    private let hashKey: [UInt8]
    let isShared: Bool
    private let state = Locked(State())

    /// - Parameter hashKey: sixteen bytes.
    init(node: UInt64 = 1, hashKey: [UInt8] = Array(repeating: 7, count: 16), isShared: Bool = false) {
        self.isShared = isShared
        self.node = node
        self.hashKey = hashKey
    }

    func open() async -> StoreOpening { self.take() }

    /// Opens the store; see ``GatewayStore/open()``. Commits that wait for ``release()`` are lost, as in a kill.
    func take() -> StoreOpening {
        self.state.withLock { state in
            state.epoch += 1
            // The commits of a former owner are handed over later.
            if !self.isShared { state.held = [] }
            state.refused = nil
            return StoreOpening(node: self.node, epoch: state.epoch, hashKey: self.hashKey, last: state.last)
        }
    }

    func segments(after: UInt64) async -> [StoredSegment] { self.page(after: after) }

    /// Does the same as ``segments(after:)`` without a task.
    func page(after: UInt64) -> [StoredSegment] {
        self.state.withLock { state in
            // Pages are short, so that tests show that readers ask for the next one.
            state.segments.keys.filter { $0 > after }.sorted().prefix(3).compactMap { number in
                state.segments[number].map { StoredSegment(number: number, bytes: $0) }
            }
        }
    }

    func rows(_ table: StoreTable) async -> [StoreRow] { self.all(table) }

    /// Does the same as ``rows(_:)`` without a task.
    func all(_ table: StoreTable) -> [StoreRow] {
        self.state.withLock { state in
            state.rows[table, default: [:]].map { StoreRow(key: $0.key, value: $0.value) }
        }
    }

    func rows(_ table: StoreTable, after: [UInt8], limit: Int) async -> [StoreRow] {
        await self.waitForRelease()
        return self.page(table, after: after, limit: limit)
    }

    /// Does the same as ``rows(_:after:limit:)`` without a task.
    func page(_ table: StoreTable, after: [UInt8], limit: Int) -> [StoreRow] {
        // The keys of one table may differ in length, and a shorter one comes first, as in SQLite.
        self.all(table).filter { after.lexicographicallyPrecedes($0.key) }
            .sorted { $0.key.lexicographicallyPrecedes($1.key) }.prefix(limit).map(\.self)
    }

    func rows(_ table: StoreTable, keys: [[UInt8]]) async -> [StoreRow] {
        await self.waitForRelease()
        return self.all(table).filter { keys.contains($0.key) }
    }

    /// Does the same as ``append(_:then:)`` for a store that is not held.
    func write(_ commit: StoreCommit) -> StoreAnswer { self.state.withLock { self.write(commit, &$0) } }

    func append(_ commit: StoreCommit, then: @escaping @Sendable (StoreAnswer) -> Void) {
        self.answer(then) { self.write(commit, &$0) }
    }

    /// Waits while the store is held. The letters are read in this way.
    private func waitForRelease() async {
        await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
            self.answer({ _ in continuation.resume() }) { _ in .durable }
        }
    }

    private func answer(
        _ then: @escaping @Sendable (StoreAnswer) -> Void,
        _ work: @escaping @Sendable (inout State) -> StoreAnswer
    ) {
        let answer: StoreAnswer? = self.state.withLock { state in
            guard !state.isHeld else {
                state.held.append((work, then))
                return nil
            }
            return work(&state)
        }
        if let answer { then(answer) }
    }

    private func write(_ commit: StoreCommit, _ state: inout State) -> StoreAnswer {
        let number = commit.segment.number
        guard commit.epoch == state.epoch else {
            guard self.isShared else { return .fenced }
            if let trouble = state.trouble { return .unavailable(trouble) }
            if state.segments[number] == nil, state.late[number] == nil { state.late[number] = commit.segment.bytes }
            self.change(commit.changes, &state)
            return .fenced
        }
        if let refused = state.refused, refused.number < commit.segment.number { return .unavailable(refused.reason) }
        if let trouble = state.trouble {
            state.refused = (commit.segment.number, trouble)
            return .unavailable(trouble)
        }
        state.refused = nil
        state.last = max(state.last, commit.segment.number)
        state.segments[commit.segment.number] = commit.segment.bytes
        for number in commit.drops { state.segments[number] = nil }
        state.done.formUnion(commit.late)
        self.change(commit.changes, &state)
        return .durable
    }

    private func change(_ changes: [StoreChange], _ state: inout State) {
        for change in changes {
            // A shared list of rejections keeps the first line of a notification.
            if self.isShared, change.table == .rejections, state.rows[.rejections]?[change.key] != nil { continue }
            state.rows[change.table, default: [:]][change.key] = change.value
        }
    }

    func close() async { self.release() }

    // MARK: Faults

    /// The late segments that no owner has taken over.
    var late: [StoredSegment] {
        self.state.withLock { state in
            state.late.filter { !state.done.contains($0.key) }.sorted { $0.key < $1.key }
                .map { StoredSegment(number: $0.key, bytes: $0.value) }
        }
    }

    /// The number of segments.
    var count: Int { self.state.withLock { $0.segments.count } }

    /// The number of commits and reads of letters that wait for ``release()``.
    var heldCount: Int { self.state.withLock { $0.held.count } }

    /// Refuses every commit with this reason; nil ends the refusals.
    func fail(_ trouble: String?) { self.state.withLock { $0.trouble = trouble } }

    /// Holds all answers until ``release()``.
    func hold() { self.state.withLock { $0.isHeld = true } }

    /// Writes and answers what was held.
    func release() {
        let answers = self.state.withLock { state in
            state.isHeld = false
            defer { state.held = [] }
            return state.held.map { work, then in (then, work(&state)) }
        }
        for (then, answer) in answers { then(answer) }
    }

    /// Changes a row, as a damaged disk would.
    func damage(_ change: StoreChange) {
        self.state.withLock { $0.rows[change.table, default: [:]][change.key] = change.value }
    }

    /// Changes a byte of a segment, as a damaged disk would.
    func damage(_ number: UInt64) {
        self.state.withLock { state in
            guard let last = state.segments[number]?.indices.last else { return }
            state.segments[number]?[last / 2] ^= 0xff
        }
    }
}

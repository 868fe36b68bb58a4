/// The place where a gateway keeps what a killed process must not lose.
///
/// A store knows nothing of notifications. It keeps *segments*, bytes that ``Journal`` writes and ``Recovery`` reads, and
/// small tables of rows. So a database that several gateways share can take the place of a file.
///
/// Its methods may be called on any thread. ``append(_:then:)`` keeps the order of its calls.
package protocol GatewayStore: Sendable {
    /// Takes the store for this process. From now on, every older owner is fenced.
    ///
    /// - Throws: ``StoreError`` when the store is in use, damaged or not accessible.
    func open() async throws(StoreError) -> StoreOpening

    /// Returns the next segments in ascending order, some megabytes at most; none at the end.
    ///
    /// - Parameter after: the number of the last segment that the caller has; 0 at the beginning.
    func segments(after: UInt64) async throws(StoreError) -> [StoredSegment]

    /// Returns all rows of a table, in no order.
    func rows(_ table: StoreTable) async throws(StoreError) -> [StoreRow]

    /// Writes a commit: all of it, or nothing. A commit whose segment the store already has takes its place, so that a
    /// caller without an answer can repeat it. After a commit that was refused, later ones are refused until it is
    /// repeated: so commits are written in their order.
    ///
    /// - Parameter then: called once, on any thread, in the order of the calls.
    func append(_ commit: StoreCommit, then: @escaping @Sendable (StoreAnswer) -> Void)

    /// Takes something for this process: call it before what the claim is for.
    ///
    /// A store with one owner at a time grants everything to that owner. A store that several gateways share grants each
    /// claim to one of them.
    ///
    /// - Parameters:
    ///   - epoch: the epoch of the process.
    ///   - then: called once, on any thread: durable, if the process has it.
    func claim(_ claim: StoreClaim, epoch: UInt64, then: @escaping @Sendable (StoreAnswer) -> Void)

    /// Waits for the commits under way, and gives the store free.
    func close() async
}

/// What a store says of itself when it is opened.
package struct StoreOpening: Hashable, Sendable {
    /// A random number that is the store's for ever.
    package var node: UInt64
    /// How often the store was opened, this time included.
    package var epoch: UInt64
    /// The key of the replay filter's hash, which is the store's for ever: hashes of an earlier process stay valid.
    package var hashKey: [UInt8]

    package init(node: UInt64, epoch: UInt64, hashKey: [UInt8]) {
        self.node = node
        self.epoch = epoch
        self.hashKey = hashKey
    }
}

/// What only one process may have.
package enum StoreClaim: Hashable, Sendable {
    /// The client with this name: before its first notification is taken. Its copies, episodes and habits are with one
    /// gateway. It ends with the process.
    case client(String)
    /// The feedback rows of the client with this name: before a reader gets them. It ends after
    /// ``FeedbackRows/claimTime``.
    case feedback(String)
}

/// The bytes of one group commit.
package struct StoredSegment: Hashable, Sendable {
    /// Ascending, and never used twice.
    package var number: UInt64
    package var bytes: [UInt8]

    package init(number: UInt64, bytes: [UInt8]) {
        self.number = number
        self.bytes = bytes
    }
}

/// A small table of a store. Its raw value is written to disk: never change one.
package enum StoreTable: UInt8, Sendable, CaseIterable {
    /// The feedback rows: see ``FeedbackRows``.
    case feedback = 1
    /// What clients do after error responses: see ``ClientHabit``.
    case habits = 2
    /// The lines that the file of the list of rejections does not have: see ``RejectionList``. The key is the number of the
    /// line, big-endian.
    case rejections = 3
    /// Where the last lines of that file end: see ``ListPlace``.
    case list = 4
    /// The gates that were warm: see ``GateRow``.
    case gates = 5

    /// A key that begins with the length (1) and the name of a client.
    static func key(client name: String, _ rest: some Sequence<UInt8>) -> [UInt8] {
        let name = Array(name.utf8.prefix(255))
        return [UInt8(name.count)] + name + rest
    }

    /// Takes such a key apart.
    static func client(ofKey key: [UInt8]) -> (name: String, rest: ArraySlice<UInt8>)? {
        guard let length = key.first, key.count > Int(length) else { return nil }
        return (String(decoding: key[1...][..<(Int(length) + 1)], as: UTF8.self), key[(Int(length) + 1)...])
    }
}

/// A row of a table: bytes under a key.
package struct StoreRow: Hashable, Sendable {
    package var key: [UInt8]
    package var value: [UInt8]

    package init(key: [UInt8], value: [UInt8]) {
        self.key = key
        self.value = value
    }
}

/// A change of a row.
package struct StoreChange: Hashable, Sendable {
    package var table: StoreTable
    package var key: [UInt8]
    /// Nil removes the row.
    package var value: [UInt8]?

    package init(_ table: StoreTable, key: [UInt8], value: [UInt8]?) {
        self.table = table
        self.key = key
        self.value = value
    }
}

/// Everything that one transaction writes.
package struct StoreCommit: Hashable, Sendable {
    /// The epoch of the writer.
    package var epoch: UInt64
    package var segment: StoredSegment
    /// In order.
    package var changes: [StoreChange]
    /// The numbers of segments that are needed no more.
    package var drops: [UInt64]

    package init(epoch: UInt64, segment: StoredSegment, changes: [StoreChange] = [], drops: [UInt64] = []) {
        self.epoch = epoch
        self.segment = segment
        self.changes = changes
        self.drops = drops
    }
}

/// The answer to a commit.
package enum StoreAnswer: Hashable, Sendable {
    /// A killed process does not lose it.
    case durable
    /// Another process has taken the store. Nothing was written, and nothing ever will be.
    case fenced
    /// It is not certain that anything was written, and a later try may succeed: one sentence.
    case unavailable(String)
}

/// The reason why a store cannot be opened or read.
package struct StoreError: Error, Hashable, CustomStringConvertible {
    /// One sentence: the store, and what to do.
    package let description: String

    package init(_ description: String) { self.description = description }
}

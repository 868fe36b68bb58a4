/// The place where a gateway keeps the state that a killed process must not lose.
///
/// A store knows nothing about notifications. It keeps *segments*, which are bytes that ``Journal`` writes and
/// ``Recovery`` reads, and small tables of rows. So the store can be a file, or a database that several gateways share;
/// see ``SharedStore``.
///
/// Any thread may call the methods. ``append(_:then:)`` keeps the order of its calls.
package protocol GatewayStore: Sendable {
    /// Takes the store for this process. From then on, commits of every earlier owner are answered
    /// ``StoreAnswer/fenced``.
    ///
    /// - Throws: ``StoreError`` when the store is in use, damaged or not accessible.
    func open() async throws(StoreError) -> StoreOpening

    /// Returns the next segments in ascending order, some megabytes at most. At the end it returns an empty list.
    ///
    /// - Parameter after: the number of the last segment that the caller has; 0 at the beginning.
    func segments(after: UInt64) async throws(StoreError) -> [StoredSegment]

    /// Returns all rows of a table, in any order.
    func rows(_ table: StoreTable) async throws(StoreError) -> [StoreRow]

    /// Returns the next rows of a table in ascending order of their keys, some megabytes at most. At the end it returns
    /// an empty list.
    ///
    /// - Parameters:
    ///   - after: the key of the last row that the caller has; empty at the beginning.
    ///   - limit: the largest number of rows.
    func rows(_ table: StoreTable, after: [UInt8], limit: Int) async throws(StoreError) -> [StoreRow]

    /// Returns the rows with these keys. Rows that do not exist are left out.
    func rows(_ table: StoreTable, keys: [[UInt8]]) async throws(StoreError) -> [StoreRow]

    /// Writes all of a commit, or nothing. If the store already has the commit's segment, the commit replaces that
    /// segment. So a caller that got no answer can repeat the commit. After a refused commit, later commits are
    /// refused until the refused commit is repeated. So commits are always written in their order.
    ///
    /// - Parameter then: called once, on any thread, in the order of the calls.
    func append(_ commit: StoreCommit, then: @escaping @Sendable (StoreAnswer) -> Void)

    /// Copies the store into a new file, while it is in use. The copy has every commit that was acknowledged before the
    /// call, and may have later ones. A gateway that starts with the copy begins as after a kill at
    /// ``StoreCopy/copiedAt``.
    ///
    /// - Parameter path: an absolute path, at which no file exists.
    /// - Throws: ``StoreError``. No file of the copy is left then. Only after ``giveUpCopy()``, files of the copy may
    ///   stay until ``close()``.
    func copy(to path: String) async throws(StoreError) -> StoreCopy

    /// Ends a call of ``copy(to:)`` at once, even if the store hangs, and lets no further copy begin. A copy whose
    /// files are getting their names at that moment is still finished. Call this when the process ends.
    func giveUpCopy()

    /// Waits for the running commits, and releases the store.
    func close() async
}

extension GatewayStore {
    package func copy(to path: String) async throws(StoreError) -> StoreCopy {
        throw StoreError("This store is no file: copy it with the tools of its database.")
    }

    package func giveUpCopy() {}
}

/// The facts about a store that its opening returns.
package struct StoreOpening: Hashable, Sendable {
    /// A random number that the store keeps for ever.
    package var node: UInt64
    /// The number of this opening. Each opening of the store has a larger number than all earlier openings.
    package var epoch: UInt64
    /// The key of the replay filter's hash. The store keeps it for ever, so hashes of an earlier process stay valid.
    package var hashKey: [UInt8]
    /// The number of the last commit in the store; 0 before the first one.
    package var last: UInt64

    package init(node: UInt64, epoch: UInt64, hashKey: [UInt8], last: UInt64) {
        self.node = node
        self.epoch = epoch
        self.hashKey = hashKey
        self.last = last
    }
}

/// The bytes of one group commit.
package struct StoredSegment: Hashable, Sendable {
    /// The number of the segment. Later segments have larger numbers, and no number is used twice.
    package var number: UInt64
    package var bytes: [UInt8]

    package init(number: UInt64, bytes: [UInt8]) {
        self.number = number
        self.bytes = bytes
    }
}

/// A small table of a store. The raw values are on disk, so never change a raw value.
package enum StoreTable: UInt8, Sendable, CaseIterable {
    /// The feedback rows; see ``FeedbackRows``.
    case feedback = 1
    /// The classes and habits of clients; see ``ClientHabit``.
    case habits = 2
    /// The lines that the file of rejections does not have yet; see ``RejectionList``. The key is the number of the
    /// line, big-endian.
    ///
    /// In a ``SharedStore``, the table is the list of rejections itself. The key of a notification's last line is the
    /// number of the notification. Every other line has a new number. A line whose key exists already changes nothing.
    case rejections = 3
    /// The place in the file of rejections up to which the lines are written; see ``ListPlace``.
    case list = 4
    /// The gates that were warm; see ``GateRow``.
    case gates = 5
    /// The dead letters, and the notifications that may have arrived; see ``Letter``.
    case letters = 6
    /// The time at which this store was copied from another one; see ``CopyRow``.
    case copy = 7

    /// Makes a key: the length of the client's name (1), the name, and the rest. The name is cut to 255 bytes.
    static func key(client name: String, _ rest: some Sequence<UInt8>) -> [UInt8] {
        let name = Array(name.utf8.prefix(255))
        return [UInt8(name.count)] + name + rest
    }

    /// Splits a key of ``key(client:_:)`` into the name and the rest; nil if the key is too short.
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
    /// The new value; nil removes the row.
    package var value: [UInt8]?

    package init(_ table: StoreTable, key: [UInt8], value: [UInt8]?) {
        self.table = table
        self.key = key
        self.value = value
    }
}

/// All changes of one transaction.
package struct StoreCommit: Hashable, Sendable {
    /// The epoch of the writer.
    package var epoch: UInt64
    package var segment: StoredSegment
    /// The changes of rows, in order.
    package var changes: [StoreChange] = []
    /// The numbers of segments that are no longer needed.
    package var drops: [UInt64] = []
    /// The numbers of the late segments whose notifications this commit has; see ``SharedStore/onLate(_:)``.
    package var late: [UInt64] = []

    package init(
        epoch: UInt64,
        segment: StoredSegment,
        changes: [StoreChange] = [],
        drops: [UInt64] = [],
        late: [UInt64] = []
    ) {
        self.epoch = epoch
        self.segment = segment
        self.changes = changes
        self.drops = drops
        self.late = late
    }
}

/// The answer to a commit.
package enum StoreAnswer: Hashable, Sendable {
    /// The commit is written, and a killed process does not lose it.
    case durable
    /// Another process has the store. If the store is shared, that process has or gets the notifications of the
    /// commit; see ``SharedStore``. If the store is not shared, that process may lack these notifications, and no
    /// later commit will be written.
    case fenced
    /// The commit is not known to be written. A later try may succeed. The text is one sentence.
    case unavailable(String)
}

/// The reason why a store cannot be opened, read or copied.
package struct StoreError: Error, Hashable, CustomStringConvertible {
    /// A text that names the store, the fault and the remedy.
    package let description: String
    /// Whether the caller may try again soon, for example because another process has the store at this time. Without
    /// this flag, a later try may still succeed, for example after the end of another copy.
    package let isInUse: Bool

    package init(_ description: String, isInUse: Bool = false) {
        self.description = description
        self.isInUse = isInUse
    }
}

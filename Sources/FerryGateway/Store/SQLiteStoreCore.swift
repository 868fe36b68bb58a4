internal import FerryPlatform
internal import FerrySQLite

/// The result of a step of a copy.
enum CopyStep: Hashable, Sendable {
    /// The number of pages that are left.
    case more(remaining: Int)
    /// The copy is whole. It has the state of the store at this time, in UNIX seconds.
    case whole(at: UInt32)
}

/// The file of a ``SQLiteStore``.
///
/// `@unchecked Sendable`, because only one thread uses it.
final class SQLiteStoreCore: @unchecked Sendable {
    private struct File {
        var database: SQLiteDatabase
        var mark: HighWaterMark
        var advance: SQLiteStatement
        var insert: SQLiteStatement
        var drop: SQLiteStatement
        var set: SQLiteStatement
        var remove: SQLiteStatement
    }

    static let isClosed = StoreError("The store is closed.")

    /// The size in bytes at which a page of segments or rows is full. The last segment or row may exceed it.
    private static let pageLength = 4 << 20
    private static let keyLength = 16
    /// The version of the tables. A gateway that knows only an earlier version refuses the file. Such a gateway would
    /// never write the lines of the list of rejections that wait in the file.
    private static let version: Int64 = 2

    private let path: String
    private let durability: SQLiteDatabase.Durability
    private let warn: (String) -> Void
    private let waitForCommit: () -> Void
    private var file: File?
    /// The store that was opened for a copy alone, and the marks that were read before the opening; nil in a gateway,
    /// and after all pages are copied.
    private var source: (database: SQLiteDatabase, marks: [HighWaterMark.Contents])?
    /// The files of the claimed copy, and its backup while pages are copied; nil if no copy is claimed.
    private var copying: (files: CopyFiles, backup: SQLiteBackup?)?
    /// The refused commit, with the reason. Later commits are refused until this commit is repeated. Otherwise the
    /// repeated commit would replace their newer rows with older ones.
    private var refused: (number: UInt64, reason: String)?

    /// - Parameter waitForCommit: waits until a commit of another process is over. A commit takes some milliseconds.
    init(
        path: String,
        durability: SQLiteDatabase.Durability,
        waitForCommit: @escaping () -> Void = { usleep(100_000) },
        warn: @escaping (String) -> Void
    ) {
        self.path = path
        self.durability = durability
        self.waitForCommit = waitForCommit
        self.warn = warn
    }

    func open() throws(StoreError) -> StoreOpening {
        let mark = try self.take()
        let database = try self.lock()
        do throws(StoreError) {
            // Another process may have taken the mark meanwhile, and may wait for the lock. `isInUse` lets the caller
            // try again.
            guard !mark.isTaken else {
                throw StoreError("Another process opens the store \(self.path) at the same time.", isInUse: true)
            }
            let (file, opening) = try self.begin(database, mark)
            self.file = file
            return opening
        } catch {
            // On a file system without locks, the log may be that of another process, so this process keeps the log.
            database.keepLogAtClose()
            throw error
        }
    }

    /// Takes the store from a process that may have it without the lock.
    ///
    /// The other process finds the mark, and acknowledges no further commit. Only after that, this process reads the
    /// log. SQLite reads the log once, so an earlier reading would miss later commits.
    private func take() throws(StoreError) -> HighWaterMark {
        let database = try self.lock()
        database.keepLogAtClose()
        let mark: HighWaterMark
        do throws(HighWaterMark.Fault) {
            mark = try HighWaterMark(of: self.path)
            try mark.take()
        } catch {
            throw StoreError(error.description)
        }
        if database.hasLog { self.waitForCommit() }
        return mark
    }

    /// Opens the file for this process alone.
    private func lock() throws(StoreError) -> SQLiteDatabase {
        do {
            return try SQLiteDatabase(unchecked: self.path, durability: self.durability)
        } catch {
            throw self.error("The store cannot be used.", error)
        }
    }

    /// Begins the epoch of this process.
    private func begin(
        _ database: SQLiteDatabase,
        _ mark: HighWaterMark
    ) throws(StoreError) -> (File, StoreOpening) {
        var last: UInt64 = 0
        do {
            try database.check()
            try Self.migrate(database)
            try database.prepare("SELECT last FROM store").run { row in last = UInt64(bitPattern: row.integer(0)) }
        } catch {
            throw self.error("The store cannot be used.", error)
        }
        let finding: HighWaterMark.Finding
        do {
            finding = try mark.check(last: last, of: self.path)
        } catch {
            throw StoreError(error.description)
        }
        if finding == .isNew, last > 0 {
            // The gateway starts anyway, because an operator may have removed a damaged mark. Without the mark, lost
            // commits are not noticed, so there is a warning.
            self.warn(
                "The store's mark \(self.markPath) was missing, and is made anew. If the store has lost its last commits, "
                    + "this start cannot see it."
            )
        }
        do {
            return try self.beginEpoch(database, mark)
        } catch {
            throw self.error("The store cannot be used.", error)
        }
    }

    private var markPath: String { HighWaterMark.path(of: self.path) }

    /// Makes the error, with the advice for a damaged file.
    private func error(_ sentence: String, _ error: SQLiteError) -> StoreError {
        let file = SQLiteDatabase.realPath(of: self.path)
        let advice =
            error.kind == .damaged
            ? " Restore it, or move \(file), \(file)-wal and \(self.markPath) away to begin anew: the notifications "
                + "without an answer and the feedback rows in it are then lost, and copies of earlier notifications may arrive."
            : ""
        return StoreError("\(sentence) \(error)\(advice)", isInUse: error.kind == .locked)
    }

    private func beginEpoch(
        _ database: SQLiteDatabase,
        _ mark: HighWaterMark
    ) throws(SQLiteError) -> (File, StoreOpening) {
        var opening = StoreOpening(node: 0, epoch: 0, hashKey: [], last: 0)
        try database.transaction { () throws(SQLiteError) in
            try database.execute("UPDATE store SET epoch = epoch + 1")
            try database.prepare("SELECT node, epoch, key, last FROM store").run { row in
                opening = StoreOpening(
                    node: UInt64(bitPattern: row.integer(0)),
                    epoch: UInt64(bitPattern: row.integer(1)),
                    hashKey: row.blob(2),
                    last: UInt64(bitPattern: row.integer(3))
                )
            }
        }
        let file = File(
            database: database,
            mark: mark,
            advance: try database.prepare("UPDATE store SET last = max(last, ?) WHERE epoch = ?"),
            insert: try database.prepare("INSERT OR REPLACE INTO segments VALUES (?, ?)"),
            drop: try database.prepare("DELETE FROM segments WHERE number = ?"),
            set: try database.prepare("INSERT OR REPLACE INTO rows VALUES (?, ?, ?)"),
            remove: try database.prepare("DELETE FROM rows WHERE kind = ? AND key = ?")
        )
        return (file, opening)
    }

    /// Makes the tables of a new file, or takes over those of version 1.
    private static func migrate(_ database: SQLiteDatabase) throws(SQLiteError) {
        try database.make(version: Self.version) { found throws(SQLiteError) in
            // Version 1 had the same tables, but no lines of the list of rejections, so nothing has to be changed.
            guard found == 0 else { return }
            try database.execute(
                """
                CREATE TABLE store (
                    node INTEGER NOT NULL, epoch INTEGER NOT NULL, key BLOB NOT NULL, last INTEGER NOT NULL
                );
                CREATE TABLE segments (number INTEGER PRIMARY KEY, bytes BLOB NOT NULL);
                CREATE TABLE rows (
                    kind INTEGER NOT NULL, key BLOB NOT NULL, value BLOB NOT NULL, PRIMARY KEY (kind, key)
                ) WITHOUT ROWID;
                """
            )
            var generator = SystemRandomNumberGenerator()
            let node = Int64(bitPattern: generator.next())
            let key = (0..<Self.keyLength).map { _ in UInt8.random(in: 0...255, using: &generator) }
            try database.prepare("INSERT INTO store VALUES (?, 0, ?, 0)").run([.integer(node), .blob(key)])
        }
    }

    // MARK: Reading

    func segments(after: UInt64) throws(StoreError) -> [StoredSegment] {
        try self.read { file throws(SQLiteError) in
            var segments: [StoredSegment] = []
            var length = 0
            var last = after
            // The statement runs anew for each segment. If one run stayed open for all segments, the log would grow
            // without limit.
            let next = try file.database.prepare(
                "SELECT number, bytes FROM segments WHERE number > ? ORDER BY number LIMIT 1"
            )
            while length < Self.pageLength {
                let count = segments.count
                try next.run([.integer(Int64(bitPattern: last))]) { row in
                    let segment = StoredSegment(number: UInt64(bitPattern: row.integer(0)), bytes: row.blob(1))
                    last = segment.number
                    length += segment.bytes.count
                    segments.append(segment)
                }
                guard segments.count > count else { break }
            }
            return segments
        }
    }

    func rows(_ table: StoreTable) throws(StoreError) -> [StoreRow] {
        try self.read { file throws(SQLiteError) in
            var rows: [StoreRow] = []
            try file.database.prepare("SELECT key, value FROM rows WHERE kind = ?").run([
                .integer(Int64(table.rawValue))
            ]) {
                row in rows.append(StoreRow(key: row.blob(0), value: row.blob(1)))
            }
            return rows
        }
    }

    func rows(_ table: StoreTable, after: [UInt8], limit: Int) throws(StoreError) -> [StoreRow] {
        try self.read { file throws(SQLiteError) in
            // The statement runs anew for each row, as in ``segments(after:)``.
            let next = try file.database.prepare(
                "SELECT key, value FROM rows WHERE kind = ? AND key > ? ORDER BY key LIMIT 1"
            )
            var rows: [StoreRow] = []
            var (last, length) = (after, 0)
            while rows.count < limit, length < Self.pageLength {
                let count = rows.count
                try next.run([.integer(Int64(table.rawValue)), .blob(last)]) { row in
                    let found = StoreRow(key: row.blob(0), value: row.blob(1))
                    last = found.key
                    length += found.value.count
                    rows.append(found)
                }
                guard rows.count > count else { break }
            }
            return rows
        }
    }

    func rows(_ table: StoreTable, keys: [[UInt8]]) throws(StoreError) -> [StoreRow] {
        try self.read { file throws(SQLiteError) in
            let find = try file.database.prepare("SELECT key, value FROM rows WHERE kind = ? AND key = ?")
            var rows: [StoreRow] = []
            for key in keys {
                try find.run([.integer(Int64(table.rawValue)), .blob(key)]) { row in
                    rows.append(StoreRow(key: row.blob(0), value: row.blob(1)))
                }
            }
            return rows
        }
    }

    private func read<Result>(_ body: (File) throws(SQLiteError) -> Result) throws(StoreError) -> Result {
        guard let file else { throw Self.isClosed }
        do {
            return try body(file)
        } catch {
            throw self.error("The store cannot be read.", error)
        }
    }

    // MARK: Writing

    func append(_ commit: StoreCommit) -> StoreAnswer {
        guard let file else { return .unavailable(Self.isClosed.description) }
        guard !self.isTaken(file) else { return .fenced }
        if let refused, refused.number < commit.segment.number { return .unavailable(refused.reason) }
        // If the file was removed, its commits would be lost when the process ends.
        guard file.database.isInPlace else {
            let reason =
                "The store's file \(self.path) was removed or replaced while it was open. Put it back, or start anew."
            self.refused = (commit.segment.number, reason)
            return .unavailable(reason)
        }
        do {
            let isOurs = try file.database.transaction { () throws(SQLiteError) in try Self.write(commit, file) }
            // A process that took the store during the commit may not have seen the commit.
            guard isOurs, !self.isTaken(file) else { return .fenced }
            try file.mark.advance(to: commit.segment.number)
            self.refused = nil
            return .durable
        } catch {
            let reason = "The store cannot be written. \(error)"
            self.refused = (commit.segment.number, reason)
            return .unavailable(reason)
        }
    }

    /// Whether another process has opened the store after this process. SQLite's lock prevents a second opening, but
    /// some shared file systems have no locks. If the result is true, the log stays for the other process.
    private func isTaken(_ file: File) -> Bool {
        guard file.mark.isTaken else { return false }
        file.database.keepLogAtClose()
        return true
    }

    /// Writes a commit. Returns false, and writes nothing, if the commit is not of the present epoch.
    private static func write(_ commit: StoreCommit, _ file: File) throws(SQLiteError) -> Bool {
        let number = Int64(bitPattern: commit.segment.number)
        try file.advance.run([.integer(number), .integer(Int64(bitPattern: commit.epoch))])
        guard file.database.changeCount == 1 else { return false }
        try file.insert.run([.integer(number), .blob(commit.segment.bytes)])
        for number in commit.drops { try file.drop.run([.integer(Int64(bitPattern: number))]) }
        for change in commit.changes {
            let (kind, key) = (SQLiteValue.integer(Int64(change.table.rawValue)), SQLiteValue.blob(change.key))
            if let value = change.value {
                try file.set.run([kind, key, .blob(value)])
            } else {
                try file.remove.run([kind, key])
            }
        }
        return true
    }

    func close() {
        // The process may end next, and would leave half a copy behind.
        self.copying?.backup?.end()
        self.copying?.files.remove()
        self.copying = nil
        // Another process may have taken the store since the last commit, or since the opening. ``isTaken(_:)`` then
        // keeps the log for that process.
        if let file { _ = self.isTaken(file) }
        self.file = nil
        self.source = nil
    }

    // MARK: Copies

    /// Opens the file for a copy alone, without taking its mark. On a file system without locks, a gateway may have
    /// the store in spite of the lock, and a new owner in the mark would take the store from that gateway.
    func openForCopy() throws(StoreError) {
        guard access(self.path, F_OK) == 0 else {
            throw StoreError("There is no store at \(self.path), so there is nothing to copy.")
        }
        // The marks are read before the store is opened. So the store has every commit that the marks name.
        let found = Result { () throws(StoreError) in try self.foreignMarks() }
        let database: SQLiteDatabase
        var (version, last): (Int64, UInt64) = (0, 0)
        do {
            database = try SQLiteDatabase(path: self.path, durability: self.durability)
            // On a file system without locks, a gateway may still use the log.
            database.keepLogAtClose()
            try database.prepare("PRAGMA user_version").run { row in version = row.integer(0) }
            try database.prepare("SELECT last FROM store").run { row in last = UInt64(bitPattern: row.integer(0)) }
        } catch {
            // A half-written commit of another process looks like damage. Only the marks show that process. The error
            // of a damaged store advises to move the store away. If the marks cannot be read, this advice may be
            // wrong, so the fault of the marks is thrown instead. Any other error of the store says more than the
            // fault of the marks.
            switch found {
            case .success(let marks): if error.kind != .locked { try self.requireUnused(since: marks) }
            case .failure(let fault): if error.kind == .damaged { throw fault }
            }
            throw self.error("The store cannot be used.", error)
        }
        let marks = try found.get()
        guard 1...Self.version ~= version else {
            throw StoreError("A later version of Ferry wrote the store \(self.path). Copy it with that version.")
        }
        // A missing mark is no error here, and is not made anew. The next start of the gateway warns of it.
        if let number = marks.map(\.number).max(), number > last {
            try self.requireUnused(since: marks)
            throw StoreError(
                "The store \(self.path) cannot be copied: it ends with commit \(last), and \(number) was acknowledged. If a "
                    + "gateway on any machine has it, copy it with that gateway. If none has, its last commits are lost: the "
                    + "next start of the gateway says what to do."
            )
        }
        self.source = (database, marks)
    }

    /// The marks of a store that another process may have open.
    private func foreignMarks() throws(StoreError) -> [HighWaterMark.Contents] {
        do throws(HighWaterMark.Fault) {
            return try HighWaterMark.contents(of: self.path)
        } catch {
            guard error.isDamage else { throw StoreError(error.description) }
            throw StoreError("\(error) But if a gateway has the store, leave the mark, and copy with that gateway.")
        }
    }

    /// Throws if another process has taken the store or committed to it since the marks were read, or if the marks
    /// cannot be read again. On a file system without locks, another process can commit in spite of the lock. The copy
    /// may then have half of a commit.
    private func requireUnused(since marks: [HighWaterMark.Contents]) throws(StoreError) {
        guard try self.foreignMarks() == marks else {
            throw StoreError(
                "Another process writes the store \(self.path). Copy it with that process.",
                isInUse: true
            )
        }
    }

    /// Notes the files of a copy that begins. Returns the facts that the copy needs.
    func claimCopy(_ files: CopyFiles) throws(StoreError) -> CopyClaim {
        guard let database = self.file?.database ?? self.source?.database else { throw Self.isClosed }
        assert(self.copying == nil, "the desk lets one copy be made at a time")
        if let file, self.isTaken(file) {
            throw StoreError("Another gateway has taken the store \(self.path). Copy it with that gateway.")
        }
        var epoch: UInt64 = 0
        do {
            try database.prepare("SELECT epoch FROM store").run { row in epoch = UInt64(bitPattern: row.integer(0)) }
        } catch {
            throw self.error("The store cannot be read.", error)
        }
        let claim = CopyClaim(
            size: self.size,
            epoch: try CopyFiles.epoch(after: epoch),
            device: try self.file == nil ? nil : self.device()
        )
        self.copying = (files, nil)
        return claim
    }

    /// The bytes of the store with its log.
    private var size: Int {
        let file = SQLiteDatabase.realPath(of: self.path)
        return ["", "-wal"].reduce(0) { sum, ending in
            var status = stat()
            return stat("\(file)\(ending)", &status) == 0 ? sum + Int(status.st_size) : sum
        }
    }

    /// The number of the file system that has the store.
    private func device() throws(StoreError) -> UInt64 {
        let folder = CopyFiles.folder(of: SQLiteDatabase.realPath(of: self.path))
        guard let device = CopyFiles.device(of: folder) else {
            throw StoreError("The store's folder \(folder) cannot be looked at: \(String(cString: strerror(errno))).")
        }
        return device
    }

    func beginCopy() throws(StoreError) {
        guard let database = self.file?.database ?? self.source?.database, let copying else { throw Self.isClosed }
        do {
            self.copying?.backup = try database.backup(to: copying.files.draft)
        } catch {
            throw StoreError("The copy cannot be made. \(error)")
        }
    }

    func stepCopy(pages: Int) throws(StoreError) -> CopyStep {
        guard let backup = self.copying?.backup else { throw Self.isClosed }
        do {
            guard try backup.step(pages: pages) else { return .more(remaining: backup.remaining) }
        } catch {
            throw StoreError("The copy cannot be made. \(error)")
        }
        // The copy has no later commits. Its file is closed, so that another thread can finish it.
        backup.end()
        self.copying?.backup = nil
        // A store that was opened for a copy alone is closed here. Another process may take it while the copy is
        // finished.
        if let (database, marks) = self.source.take() {
            if database.hasLog { self.waitForCommit() }
            try self.requireUnused(since: marks)
        }
        return .whole(at: UInt32(clamping: time(nil)))
    }

    func releaseCopy() {
        self.copying?.backup?.end()
        self.copying = nil
    }
}

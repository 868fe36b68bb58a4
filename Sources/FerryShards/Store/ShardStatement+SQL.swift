internal import FerryGateway
internal import FerryPostgres

extension ShardStatement {
    /// The statement in SQL.
    ///
    /// - Parameter unused: the epoch before the take, if the owner has written nothing; nil otherwise.
    func sql(shard: Int, node: String, unused: Int64?) -> PostgresStatement {
        let id = PostgresValue.integer(Int64(shard))
        switch self {
        case .take(let seen):
            return PostgresStatement(ShardSQL.take, [id, .text(node), .text(seen.text)])
        case .retake(let terms, let epoch, let fresh):
            return PostgresStatement(
                ShardSQL.retake,
                [id, .text(node), .texts(terms.map(\.text)), .integer(Int64(bitPattern: epoch)), .text(fresh.text)]
            )
        case .append(let commit, let terms):
            let changes = Self.changes(of: commit)
            return PostgresStatement(
                ShardSQL.append,
                [
                    id, .texts(terms.map(\.text)), .integer(Int64(bitPattern: commit.segment.number)),
                    .bytes(commit.segment.bytes), .integers(commit.drops.map { Int64(bitPattern: $0) }),
                    .integers(commit.late.map { Int64(bitPattern: $0) }),
                    .smallIntegers(changes.map { Int16($0.table.rawValue) }), .byteStrings(changes.map(\.key)),
                    .byteStrings(changes.map(\.value)),
                ]
            )
        case .beat(let term, let known):
            return PostgresStatement(
                ShardSQL.beat,
                [
                    id, .text(term.text), .integers(known.map { Int64(bitPattern: $0) }),
                    .integer(Int64(ShardBeat.limit)),
                ]
            )
        case .free(let term):
            guard let unused else { return PostgresStatement(ShardSQL.free, [id, .text(term.text)]) }
            return PostgresStatement(ShardSQL.freeUnused, [id, .text(term.text), .integer(unused)])
        }
    }

    /// Reads the answer of PostgreSQL.
    func answer(_ rows: PostgresRows) -> ShardAnswer {
        switch self {
        case .take:
            guard let epoch = rows.integer(0, 0), let term = rows.text(0, 1), let before = rows.text(0, 2),
                let node = rows.integer(0, 3)
            else { return .taken(nil) }
            return .taken(
                ShardTaken(
                    node: UInt64(bitPattern: node),
                    epoch: UInt64(bitPattern: epoch),
                    term: ShardTerm(term),
                    before: ShardTerm(before)
                )
            )
        case .retake:
            switch rows.text(0, 0) {
            case "busy": return .retaken(.busy)
            case "fenced": return .retaken(.fenced)
            case let term?:
                let last = rows.integer(0, 1).map { UInt64(bitPattern: $0) }
                return .retaken(.owner(ShardTerm(term), last: last))
            case nil: return .failed("PostgreSQL gave no answer to a come-back.")
            }
        case .append:
            guard let isOwner = rows.boolean(0, 0) else { return .failed("PostgreSQL gave no answer to a commit.") }
            return .appended(isOwner: isOwner)
        case .beat:
            guard rows.count > 0 else { return .beat(nil) }
            // A shard without late segments has one row, with NULL.
            let late = (0..<rows.count).compactMap { row -> StoredSegment? in
                guard let number = rows.integer(row, 1), let bytes = rows.bytes(row, 2) else { return nil }
                return StoredSegment(number: UInt64(bitPattern: number), bytes: bytes)
            }
            return .beat(ShardBeat(late: late, wanted: rows.text(0, 0)))
        case .free:
            return .freed
        }
    }

    /// The changes of a commit, each row once, because one statement cannot change a row twice. Only a row of feedback
    /// may have two changes: a removal, and then an addition with a later time.
    static func changes(of commit: StoreCommit) -> [StoreChange] {
        var changes: [StoreChange] = []
        var places: [StoreChange: Int] = [:]
        for var change in commit.changes {
            if change.table == .rejections { change.value = change.value.map(Self.withoutZero) }
            let row = StoreChange(change.table, key: change.key, value: nil)
            if let place = places[row], change.table != .feedback || changes[place].value != nil || change.value == nil
            {
                changes[place] = change
            } else {
                places[row] = changes.count
                changes.append(change)
            }
        }
        return changes
    }

    /// PostgreSQL's `jsonb` refuses `\u0000` (postgresql.org/docs, "JSON Types"). A refused commit would stop the shard.
    private static func withoutZero(_ line: [UInt8]) -> [UInt8] {
        let text = String(decoding: line, as: UTF8.self)
        return Array(text.replacing(#"\u0000"#, with: #"\ufffd"#).utf8)
    }
}

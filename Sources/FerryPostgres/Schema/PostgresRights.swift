/// The rights to tables that a program needs. The user that made the tables has all of them.
package enum PostgresRights: CaseIterable, Sendable {
    case gateway
    case worker

    /// The names of the tables, each with one right.
    var pairs: [(table: String, right: String)] {
        switch self {
        case .gateway:
            let changed = ["segment", "late", "taken", "habit", "row", "seen", "feedback", "rejection"]
            let all = changed.flatMap { table in ["select", "insert", "update", "delete"].map { (table, $0) } }
            return all + [("meta", "select"), ("shard", "select"), ("shard", "update")]
        case .worker:
            return [
                ("meta", "select"), ("push", "select"), ("push", "update"), ("push", "delete"),
                ("outcome", "select"), ("outcome", "insert"), ("outcome", "update"), ("outcome", "delete"),
            ]
        }
    }
}

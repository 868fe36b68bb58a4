/// The reason why a statement, or a session, has failed.
package struct PostgresError: Error, Hashable, CustomStringConvertible {
    /// The things that can fail. The owner reacts to each in a different way.
    package enum Kind: Hashable, Sendable {
        /// The session has ended. Its unanswered statements may have been carried out.
        case ended
        /// The server has refused the statement, which had no effect. The session goes on.
        case refused
        /// The server cannot be used as it is: a pooler stands in front, or this build has no PostgreSQL. Another try fails
        /// in the same way.
        case unusable
    }

    package let kind: Kind
    /// The five characters of the server's error code (postgresql.org/docs, "PostgreSQL Error Codes"); empty if the
    /// error is not the server's.
    package let state: String
    /// One sentence with the reason. It has no value of a statement.
    package let description: String

    package init(_ kind: Kind, state: String = "", _ description: String) {
        self.kind = kind
        self.state = state
        self.description = description
    }

    /// The reasons for which a session came to no server. Their order does not count, because any server may be the first.
    init(_ errors: [PostgresError]) {
        if errors.count == 1 {
            self = errors[0]
        } else {
            let isUsable = errors.contains { $0.kind != .unusable }
            self.init(isUsable ? .ended : .unusable, Set(errors.map(\.description)).sorted().joined(separator: " "))
        }
    }

    /// The error of each session in a build without the trait `PostgreSQL`.
    package static let missing = PostgresError(
        .unusable,
        "This build of Ferry has no PostgreSQL: build it with --traits PostgreSQL."
    )

    /// Codes after which the session is of no use, because the server ends it or has become read-only.
    static func endsSession(_ state: String) -> Bool {
        // read_only_sql_transaction; operator_intervention: shutdown, crash, idle session time-out.
        state == "25006" || state.hasPrefix("57P0") || state == "25P03"
    }
}

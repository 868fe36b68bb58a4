/// The reason why a statement, or a session, has failed.
package struct PostgresError: Error, Hashable, CustomStringConvertible {
    /// The kinds of failures. The owner of a session reacts differently to each kind.
    package enum Kind: Hashable, Sendable {
        /// The session has ended. Its unanswered statements may have been carried out.
        case ended
        /// The statement was refused, and had no effect: by the server, or by the session because of
        /// ``PostgresSession/limit``. The session goes on.
        case refused
        /// Another try would fail in the same way. Examples: a connection string that cannot be read, a pooler in
        /// front, tables of another version, a build without PostgreSQL, an impossible request of an operator.
        case unusable
    }

    package let kind: Kind
    /// The five characters of the server's error code (postgresql.org/docs, "PostgreSQL Error Codes"); empty if the
    /// error is not the server's.
    package let state: String
    /// The reason: one sentence, or one for each server that was tried. No value of a statement is in the text.
    package let description: String

    package init(_ kind: Kind, state: String = "", _ description: String) {
        self.kind = kind
        self.state = state
        self.description = description
    }

    /// Joins the errors of all servers, or of all addresses of a server, that a session tried. The sentences are
    /// sorted: the first server is chosen at random, and the text must not depend on this choice.
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

    /// Whether another try is refused, too, until an operator acts: a right, a table or a function is missing.
    package var lasts: Bool { self.state.hasPrefix("42") || self.state.hasPrefix("3F") }

    /// Whether the session is of no use after this code, because the server ends it or has become read-only.
    static func endsSession(_ state: String) -> Bool {
        // 25006: read_only_sql_transaction. 57P0x: shutdown, crash, dropped database, idle session time-out. 25P03:
        // time-out of an idle transaction.
        state == "25006" || state.hasPrefix("57P0") || state == "25P03"
    }
}

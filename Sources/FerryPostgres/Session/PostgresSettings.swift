/// The address of a server, and the settings of a session with it.
package struct PostgresSettings: Sendable {
    /// A connection string of libpq (postgresql.org/docs, "Connection Strings"). It may hold a password, so it must
    /// be in no log.
    ///
    /// Without `sslmode` and `PGSSLMODE`, the server's certificate and name are verified (`verify-full`), except over
    /// a Unix socket, which has no TLS. Without `gssencmode` and `PGGSSENCMODE`, GSSAPI does not encrypt.
    ///
    /// A random one of several hosts is tried first. Each host gets an equal share of the time that is left for the
    /// connection. Each address of a host name gets an equal share of the host's time. `connect_timeout` has no
    /// effect.
    package var connection: String
    /// The name of the session in `pg_stat_activity`.
    package var name: String
    /// The server's parameters for this session, with values as `show` prints them, for example `4s`. Once connected,
    /// the session checks that the server has these values, except those of `tcp_…`.
    package var parameters: [String: String]
    /// How long it may take to connect, with all hosts together.
    package var connectLimit: Duration

    package init(
        _ connection: String,
        name: String,
        parameters: [String: String] = [:],
        connectLimit: Duration = .seconds(3)
    ) {
        self.connection = connection
        self.name = name
        self.parameters = parameters
        self.connectLimit = connectLimit
    }

    /// Parameters with which the server finds a dead client after some 4 s: three keepalive probes, and a check while a
    /// statement runs.
    package static let finding: [String: String] = [
        "tcp_keepalives_idle": "2", "tcp_keepalives_interval": "1", "tcp_keepalives_count": "3",
        "tcp_user_timeout": "4s", "client_connection_check_interval": "1s",
    ]

    /// The parameters of ``finding``, and two that override settings of the role, the database and the server, even
    /// those made after the session began. With `synchronous_commit`, PostgreSQL answers a commit when it is on the
    /// server's disk and on the disk of a synchronous standby, and not earlier. `default_transaction_isolation`
    /// prevents a stricter isolation, at which a statement fails if another session has changed one of its rows.
    package static let committing = PostgresSettings.finding.merging([
        "synchronous_commit": "on", "default_transaction_isolation": "read committed",
    ]) { $1 }
}

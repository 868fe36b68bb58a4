import FerryPostgresTestSupport
import Testing

@testable import FerryPostgres

/// Connections with TLS, against a real server whose certificate has the name `localhost`.
@Suite(.enabled(if: PostgresServer.isAvailable), .timeLimit(.minutes(1)))
struct PostgresTLSTests {
    private let server: PostgresServer

    init() throws { self.server = try #require(PostgresServer.secure) }

    private func session(host: String = "localhost", _ more: String) -> PostgresSession {
        PostgresSession(
            PostgresSettings("host=\(host) port=\(self.server.port) user=ferry dbname=postgres \(more)", name: "test")
        )
    }

    private func refusal(host: String = "localhost", _ more: String) async throws -> String {
        let session = self.session(host: host, more)
        let error = await #expect(throws: PostgresError.self) {
            _ = try await session.send(PostgresStatement("select 1"), within: .seconds(10))
        }
        return try #require(error?.description)
    }

    @Test func `The certificate is verified unless the string says otherwise`() async throws {
        for more in ["sslrootcert=\(self.server.certificate)", "sslmode=require"] {
            let session = self.session(more)
            let rows = try await session.send(
                PostgresStatement("select ssl from pg_stat_ssl where pid = pg_backend_pid()"),
                within: .seconds(10)
            )
            #expect(rows.boolean(0, 0) == true)
        }
    }

    @Test func `A certificate with another name is refused with one sentence`() async throws {
        let words = try await self.refusal(host: "127.0.0.1", "sslrootcert=\(self.server.certificate)")
        let start = "PostgreSQL: connection to server at \"127.0.0.1\", port \(self.server.port) failed: "
        #expect(words.hasPrefix(start + "server certificate for \"localhost\""), "\(words)")
        #expect(words.hasSuffix(" does not match host name \"127.0.0.1\"."), "\(words)")
    }

    @Test func `Without the certificate of the authority, one sentence says how to name it`() async throws {
        let words = try await self.refusal("sslrootcert=/nonexistent/root.crt")
        let end =
            "port \(self.server.port) failed: root certificate file \"/nonexistent/root.crt\" does not exist: name the "
            + "certificate of the server's authority with sslrootcert."
        #expect(words.hasPrefix("PostgreSQL: connection to server at \"localhost\" ("), "\(words)")
        #expect(words.hasSuffix(end), "\(words)")
    }

    @Test func `Answers longer than a record are read to their end`() async throws {
        let session = self.session("sslrootcert=\(self.server.certificate)")
        for length in [16_000, 16_384, 40_000, 5_000_000] as [Int64] {
            let rows = try await session.send(
                PostgresStatement("select repeat('x', $1::int)", [.integer(length)]),
                within: .seconds(20)
            )
            #expect(rows.text(0, 0)?.utf8.count == Int(length))
        }
    }

    #if PostgreSQL
    @Test func `GSSAPI encrypts only if the string says so`() throws {
        let string = "host=localhost user=ferry"
        let usual = try PostgresOptions.all(PostgresSettings(string, name: "test"))
        #expect(usual.map { $0.values["gssencmode"] } == ["disable"])
        let given = try PostgresOptions.all(PostgresSettings(string + " gssencmode=require", name: "test"))
        #expect(given.map { $0.values["gssencmode"] } == ["require"])
    }
    #endif
}

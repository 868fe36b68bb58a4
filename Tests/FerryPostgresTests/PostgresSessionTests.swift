import FerryCore
import FerryPlatform
import FerryPostgres
import FerryPostgresTestSupport
import Testing

/// Against a real server. They run in a build with PostgreSQL, on a machine that has it.
@Suite(.enabled(if: PostgresServer.isAvailable), .timeLimit(.minutes(1)))
struct PostgresSessionTests {
    private let server: PostgresServer
    private let database: String

    init() throws {
        self.server = try #require(PostgresServer.shared)
        self.database = try self.server.database()
    }

    private func session(_ parameters: [String: String] = [:]) -> PostgresSession {
        PostgresSession(
            PostgresSettings(self.server.connection(to: self.database), name: "test", parameters: parameters)
        )
    }

    @Test func `Values of every type come back as they went`() async throws {
        let session = self.session()
        let rows = try await session.send(
            PostgresStatement(
                """
                select $1::bigint, $2::text, $3::bytea, $4::uuid, $5::text, array_length($6::bigint[], 1), $7::text[] = array['a', null],
                  $8::bytea[] = '{}', $9::smallint[] = array[1, null]::smallint[], $10::uuid[] = array[$4::uuid]
                """,
                [
                    .integer(-5), .text("ä"), .bytes([0, 1, 255]), .uuid(Array(0..<16)), .null, .integers([1, 2, 3]),
                    .texts(["a", nil]), .byteStrings([]), .smallIntegers([1, nil]), .uuids([Array(0..<16)]),
                ]
            ),
            within: .seconds(10)
        )
        #expect(rows.count == 1)
        #expect(rows.integer(0, 0) == -5)
        #expect(rows.text(0, 1) == "ä")
        #expect(rows.bytes(0, 2) == [0, 1, 255])
        #expect(rows.bytes(0, 3) == Array(0..<16))
        #expect(rows.bytes(0, 4) == nil)
        #expect(rows.integer(0, 5) == 3)
        for column in 6...9 { #expect(rows.boolean(0, column) == true) }
        #expect(rows.integer(0, 10) == nil)
        #expect(rows.integer(1, 0) == nil)
    }

    @Test func `Statements under way are answered in their order, and a refused one does not stop the next`()
        async throws
    {
        let session = self.session()
        let answers = Locked<[String]>([])
        await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
            for number in 0..<100 {
                let text: StaticString =
                    number == 50 ? "select (1 / ($1::bigint - 50))::text" : "select $1::bigint::text"
                session.send(PostgresStatement(text, [.integer(Int64(number))]), within: .seconds(10)) { answer in
                    let word =
                        switch answer {
                        case .success(let rows): rows.text(0, 0) ?? "?"
                        case .failure(let error): error.state
                        }
                    answers.withLock { $0.append(word) }
                    if number == 99 { continuation.resume() }
                }
            }
        }
        var expected = (0..<100).map { String($0) }
        // division_by_zero
        expected[50] = "22012"
        #expect(answers.withLock { $0 } == expected)
    }

    @Test func `A statement without an answer in time ends the session, and those behind it`() async throws {
        let ended = Locked<PostgresError?>(nil)
        let settings = PostgresSettings(self.server.connection(to: self.database), name: "test")
        await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
            let session = PostgresSession(settings) { error in
                ended.withLock { $0 = error }
                continuation.resume()
            }
            session.send(PostgresStatement("select pg_sleep(60)"), within: .milliseconds(300)) { answer in
                if case .failure(let error) = answer { #expect(error.kind == .ended) } else { Issue.record("answered") }
            }
            session.send(PostgresStatement("select 1"), within: .seconds(60)) { answer in
                if case .failure(let error) = answer { #expect(error.kind == .ended) } else { Issue.record("answered") }
                withExtendedLifetime(session) {}
            }
        }
        #expect(ended.withLock { $0?.kind } == .ended)
    }

    @Test func `The server's parameters hold, and the idle time-out ends the session`() async throws {
        let ended = Locked<PostgresError?>(nil)
        let parameters = PostgresSettings.finding.merging(["idle_session_timeout": "300ms"]) { $1 }
        let settings = PostgresSettings(
            self.server.connection(to: self.database),
            name: "ferry gw1 shard 3",
            parameters: parameters
        )
        let session = Locked<PostgresSession?>(nil)
        await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
            let made = PostgresSession(settings) { error in
                ended.withLock { $0 = error }
                continuation.resume()
            }
            session.withLock { $0 = made }
        }
        let error = try #require(ended.withLock { $0 })
        #expect(error.kind == .ended)
        #expect(error.description.contains("idle-session timeout"))
    }

    @Test(arguments: ["off", "local", "remote_write"])
    func `A session that commits waits for the disks, whatever the database has set`(setting: String) async throws {
        try self.server.query("alter database \(self.database) set synchronous_commit = \(setting)", in: "postgres")
        let session = self.session(PostgresSettings.committing)
        let word = PostgresStatement("select current_setting('synchronous_commit')")
        #expect(try await session.send(word, within: .seconds(10)).text(0, 0) == "on")
        session.close()
    }

    @Test func `A server that does not take a parameter is reported as a pooler`() async throws {
        // The server keeps what it was told in another spelling, as a pooler keeps its own value.
        let session = self.session(["idle_session_timeout": "4000"])
        let error = await #expect(throws: PostgresError.self) {
            _ = try await session.send(PostgresStatement("select 1"), within: .seconds(10))
        }
        #expect(error?.kind == .unusable)
        #expect(error?.description.contains("pooler") == true)
    }

    @Test func `A connection string that cannot be read is not quoted`() async throws {
        let session = PostgresSession(PostgresSettings("password=secret nonsense", name: "test"))
        let error = await #expect(throws: PostgresError.self) {
            _ = try await session.send(PostgresStatement("select 1"), within: .seconds(10))
        }
        #expect(error?.kind == .unusable)
        #expect(error?.description.contains("secret") == false)
    }

    @Test(arguments: [
        "postgresql://ferry:hunter2@secret@127.0.0.1/ferry", "postgresql://ferry:hunter2/secret@db/ferry",
    ])
    func `A password that is not encoded is not shown`(connection: String) async throws {
        let session = PostgresSession(PostgresSettings(connection, name: "test"))
        let error = await #expect(throws: PostgresError.self) {
            _ = try await session.send(PostgresStatement("select 1"), within: .seconds(10))
        }
        #expect(error?.kind == .unusable)
        #expect(error?.description.contains("secret") == false && error?.description.contains("hunter2") == false)
    }

    @Test(arguments: ["sslrootcert", "passfile"])
    func `A file without a whole path is refused`(name: String) async throws {
        let session = PostgresSession(PostgresSettings("host=/nonexistent \(name)=ca.pem", name: "test"))
        let error = await #expect(throws: PostgresError.self) {
            _ = try await session.send(PostgresStatement("select 1"), within: .seconds(10))
        }
        #expect(error?.kind == .unusable)
        #expect(
            error?.description == "\(name) of PostgreSQL's connection string is no whole path: begin it with /."
        )
    }

    @Test(arguments: ["service=ferry", "host=/nonexistent/a,/nonexistent/b port=1,2,3"])
    func `A string that no try can mend is refused`(connection: String) async throws {
        let session = PostgresSession(PostgresSettings(connection, name: "test"))
        let error = await #expect(throws: PostgresError.self) {
            _ = try await session.send(PostgresStatement("select 1"), within: .seconds(10))
        }
        #expect(error?.kind == .unusable, "\(error?.description ?? "")")
    }

    @Test func `A connection that the system does not take ends in time`() async throws {
        let server = try #require(FullServer())
        let settings = PostgresSettings(server.connection, name: "test", connectLimit: .milliseconds(200))
        let session = PostgresSession(settings)
        let error = await #expect(throws: PostgresError.self) {
            _ = try await session.send(PostgresStatement("select 1"), within: .seconds(60))
        }
        #expect(error?.kind == .ended)
        #expect(
            error?.description
                == "PostgreSQL: connection to server at \"127.0.0.1\", port \(server.port) failed: it does not answer."
        )
    }

    @Test func `Servers that do not answer leave time for the next one`() async throws {
        let full = try #require(FullServer())
        let silent = try #require(SilentServer(answer: []))
        let good = self.server.socketPath.dropLast("/.s.PGSQL.5432".count)
        let servers = "host=127.0.0.1,localhost,\(good) port=\(full.port),\(silent.port),5432"
        let connection = "\(servers) user=ferry dbname=\(self.database) sslmode=disable"
        // Any of the three may be the first.
        for _ in 0..<3 {
            let session = PostgresSession(PostgresSettings(connection, name: "test"))
            let rows = try await session.send(PostgresStatement("select 1::bigint"), within: .seconds(10))
            #expect(rows.integer(0, 0) == 1)
        }
    }

    @Test func `Of several servers that are refused, each has its sentence`() async throws {
        let directory = "/nonexistent-\(getpid())"
        let session = PostgresSession(
            PostgresSettings("host=\(directory)/b,\(directory)/a sslmode=disable", name: "test")
        )
        let error = await #expect(throws: PostgresError.self) {
            _ = try await session.send(PostgresStatement("select 1"), within: .seconds(10))
        }
        let sentences = ["a", "b"].map {
            "PostgreSQL: connection to server on socket \"\(directory)/\($0)/.s.PGSQL.5432\" failed: No such file or directory."
        }
        #expect(error?.description == sentences.joined(separator: " "))
    }

    @Test func `A session that is closed while the server does not say its parameters ends at once`() async throws {
        // AuthenticationOk, ReadyForQuery.
        let answer: [UInt8] = [0x52, 0, 0, 0, 8, 0, 0, 0, 0, 0x5A, 0, 0, 0, 5, 0x49]
        let server = try #require(SilentServer(answer: answer))
        let session = Locked<PostgresSession?>(nil)
        await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
            let settings = PostgresSettings(
                server.connection + " target_session_attrs=any",
                name: "test",
                parameters: ["idle_session_timeout": "4s"],
                connectLimit: .seconds(600)
            )
            let made = PostgresSession(settings) { error in
                #expect(error == nil)
                continuation.resume()
            }
            session.withLock { $0 = made }
            server.whenAsked { made.close() }
        }
    }

    @Test func `A session that is closed refuses statements`() async throws {
        let session = self.session()
        _ = try await session.send(PostgresStatement("select 1"), within: .seconds(10))
        session.close()
        let error = await #expect(throws: PostgresError.self) {
            _ = try await session.send(PostgresStatement("select 1"), within: .seconds(10))
        }
        #expect(error?.kind == .ended)
    }

    @Test func `A text that is prepared after a failed one takes no other's place`() async throws {
        let session = self.session()
        _ = try? await session.send(PostgresStatement("select * from public.missing"), within: .seconds(10))
        for _ in 0..<2 {
            let one = try await session.send(PostgresStatement("select 1::bigint"), within: .seconds(10))
            #expect(one.integer(0, 0) == 1)
            _ = try? await session.send(PostgresStatement("select * from public.missing"), within: .seconds(10))
            let two = try await session.send(PostgresStatement("select 2::bigint"), within: .seconds(10))
            #expect(two.integer(0, 0) == 2)
        }
    }

    @Test func `A failed preparation does not spoil the text for the next try`() async throws {
        let session = self.session()
        for _ in 0..<2 {
            let error = await #expect(throws: PostgresError.self) {
                _ = try await session.send(PostgresStatement("select * from public.later"), within: .seconds(10))
            }
            // undefined_table
            #expect(error?.state == "42P01")
            #expect(error?.kind == .refused)
        }
        try self.server.query("create table public.later (number int)", in: self.database)
        let rows = try await session.send(PostgresStatement("select * from public.later"), within: .seconds(10))
        #expect(rows.count == 0)
    }
}

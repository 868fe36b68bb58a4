import FerryGateway
import FerryPlatform
import FerryPostgres
import FerryPostgresTestSupport
import FerryShards
import Testing

/// An owner that is stopped in the middle of a message to PostgreSQL.
@Suite(.enabled(if: PostgresServer.isAvailable), .timeLimit(.minutes(2)))
struct HangingOwnerTests {
    /// A connection that speaks PostgreSQL's protocol byte by byte (postgresql.org/docs, "Message Formats").
    private final class RawSession {
        private let descriptor: Int32

        init(_ server: PostgresServer, _ database: String) throws {
            self.descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
            var address = sockaddr_un()
            address.sun_family = sa_family_t(AF_UNIX)
            withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: server.socketPath.utf8) }
            let connected = withUnsafeBytes(of: &address) { bytes in
                connect(
                    self.descriptor,
                    bytes.baseAddress?.assumingMemoryBound(to: sockaddr.self),
                    socklen_t(MemoryLayout<sockaddr_un>.size)
                )
            }
            try #require(connected == 0)
            var startup = Self.number(196_608)
            for text in ["user", "ferry", "database", database] { startup += Array(text.utf8) + [0] }
            startup.append(0)
            self.write(Self.number(Int32(startup.count + 4)) + startup)
            self.waitUntilReady()
        }

        deinit { _ = close(self.descriptor) }

        private static func number(_ value: Int32) -> [UInt8] {
            withUnsafeBytes(of: value.bigEndian) { Array($0) }
        }

        private static func message(_ type: Character, _ body: [UInt8]) -> [UInt8] {
            Array(String(type).utf8) + Self.number(Int32(body.count + 4)) + body
        }

        private func write(_ bytes: [UInt8]) {
            _ = bytes.withUnsafeBytes { send(self.descriptor, $0.baseAddress, $0.count, 0) }
        }

        /// Reads until the server waits for a statement.
        private func waitUntilReady() {
            let ready = Self.message("Z", [UInt8(ascii: "I")])
            var seen: [UInt8] = []
            var bytes = [UInt8](repeating: 0, count: 4096)
            while !seen.suffix(ready.count).elementsEqual(ready) {
                let count = recv(self.descriptor, &bytes, bytes.count, 0)
                guard count > 0 else { return }
                seen += bytes[..<count]
            }
        }

        /// Takes the shard, sets the session's own limits to one second, and sends a Parse without the Sync that has to
        /// follow.
        func takeAndStop() {
            let take = """
                select * from ferry.take(0, 'gw1', (select term from ferry.shard where id = 0));
                set idle_session_timeout = '1s'; set statement_timeout = '1s'
                """
            let parse = Self.message("P", Array("\0select 1\0".utf8) + [0, 0])
            // One write: between two, the first limit could end the session.
            self.write(Self.message("Q", Array(take.utf8) + [0]) + parse)
            self.waitUntilReady()
        }
    }

    @Test func `Without that look its session stays, whatever time-outs it has`() async throws {
        let database = try await ShardDatabase()
        let hanging = try RawSession(database.server, database.name)
        hanging.takeAndStop()
        let hangs = """
            from pg_stat_activity a join pg_locks l on l.pid = a.pid and l.locktype = 'advisory' where a.state <> 'idle' \
            and a.datname = '\(database.name)'
            """
        try await database.until {
            try database.query("select max(clock_timestamp() - a.state_change) > interval '8 s' \(hangs)") == "t"
        }
        _ = try database.query("select pg_terminate_backend(a.pid) \(hangs)")
        try await database.until { try database.query("select count(*) \(hangs)") == "0" }
        withExtendedLifetime(hanging) {}
    }

    @Test func `The look of another process ends its session, and the shard is free`() async throws {
        let database = try await ShardDatabase()
        let process = try await TestProcess(database, "gw2")
        let hanging = try RawSession(database.server, database.name)
        let begin = ContinuousClock.now
        hanging.takeAndStop()
        try await process.run { _ in
            try await database.until { try database.query("select owner from ferry.shard") == "gw2" }
        }
        let taken = begin.duration(to: .now)
        // 8 s until the session is ended, the grace of 4 s, and a look before each.
        #expect(taken > .seconds(11), "\(taken)")
        withExtendedLifetime(hanging) {}
    }
}

import FerryCore
import FerryGateway
import FerryPostgres
import FerryPostgresTestSupport
import FerryShards
import NIOCore
import NIOPosix
import Testing

/// A database with shards, and their owners.
struct ShardDatabase {
    let server: PostgresServer
    let name: String

    init(shards: Int = 1) async throws {
        self.server = try #require(PostgresServer.shared)
        self.name = try self.server.database()
        let setup = PostgresSetup(self.connection)
        _ = try await setup.make(shards: shards)
        setup.close()
    }

    var connection: String { self.server.connection(to: self.name) }

    @discardableResult
    func query(_ sql: String) throws -> String { try self.server.query(sql, in: self.name) }

    func term(of shard: Int = 0) throws -> ShardTerm {
        ShardTerm(try self.query("select term from ferry.shard where id = \(shard)"))
    }

    /// Ends the sessions of owners, and waits for their end.
    func endSessions(of node: String) throws {
        // The database may refuse connections.
        try self.server.query(
            "select pg_terminate_backend(pid, 10000) from pg_stat_activity where datname = '\(self.name)' "
                + "and application_name like 'ferry \(node) shard %'",
            in: "postgres"
        )
    }

    /// Waits until a condition holds. The time limit of the suite ends a wait without end.
    func until(_ condition: () throws -> Bool) async throws {
        while try !condition() { try await Task.sleep(for: .milliseconds(20)) }
    }
}

/// An owner of a shard, with its news.
final class TestOwner: Sendable {
    let node: String
    let store: PostgresStore
    let eventLoop: any EventLoop
    private static let groups = Locked<[MultiThreadedEventLoopGroup]>([])

    private let newsList = NewsList()
    private let lateList = Locked<[StoredSegment]>([])

    init(_ database: ShardDatabase, _ node: String, away: ShardAway = .wait) throws {
        // A test may block the event loop. The thread stays until the process ends.
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        Self.groups.withLock { $0.append(group) }
        let (news, eventLoop) = (self.newsList, group.next())
        let place = PostgresStore.Place(connection: database.connection, shard: 0, node: node, away: away)
        self.store = PostgresStore(place, seen: try database.term(), on: eventLoop) { news.append($0) }
        self.eventLoop = eventLoop
        self.node = node
    }

    var news: [PostgresStore.News] { self.newsList.all }
    var late: [StoredSegment] { self.lateList.withLock { $0 } }

    /// Collects the late segments.
    func listen() {
        self.store.onLate { segments in self.lateList.withLock { $0 += segments } }
    }

    func commit(
        _ number: UInt64,
        _ epoch: UInt64,
        changes: [StoreChange] = [],
        late: [UInt64] = []
    ) async -> StoreAnswer {
        await withCheckedContinuation { continuation in
            let segment = StoredSegment(number: number, bytes: [UInt8(truncatingIfNeeded: number)])
            let commit = StoreCommit(epoch: epoch, segment: segment, changes: changes, late: late)
            self.store.append(commit) { continuation.resume(returning: $0) }
        }
    }
}

final class NewsList: Sendable {
    private let list = Locked<[PostgresStore.News]>([])

    func append(_ news: PostgresStore.News) { self.list.withLock { $0.append(news) } }

    var all: [PostgresStore.News] { self.list.withLock { $0 } }
}

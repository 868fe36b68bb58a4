import FerryPostgres
import FerryPostgresTestSupport
import FerryShards
import NIOPosix

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

@testable import FerryGateway

/// A store that can be opened again, as after a kill.
struct StoreShelf {
    enum Kind: CaseIterable {
        case memory
        case sqlite
        case postgres

        /// The kinds that this machine has.
        static let possible = Self.allCases.filter { $0 != .postgres || PostgresServer.isAvailable }
    }

    let kind: Kind
    let memory = MemoryStore()
    let directory = FileManager.default.temporaryDirectory.appending(path: "ferry-\(UUID().uuidString)")
    private(set) var database: String?

    /// Makes a shelf, and removes its files afterwards.
    static func with(_ kind: Kind, _ body: (StoreShelf) async throws -> Void) async throws {
        var shelf = StoreShelf(kind: kind)
        if kind == .postgres, let server = PostgresServer.shared {
            let database = try server.database()
            let setup = PostgresSetup(server.connection(to: database))
            _ = try await setup.make(shards: 1)
            setup.close()
            shelf.database = database
        }
        try FileManager.default.createDirectory(at: shelf.directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: shelf.directory) }
        try await body(shelf)
    }

    private init(kind: Kind) { self.kind = kind }

    var path: String { self.directory.appending(path: "gateway.db").path }

    /// Puts the same bytes into another file at the path. Nobody has its lock, as on a file system without locks. The log
    /// and the mark stay.
    func loseLock() throws {
        try FileManager.default.copyItem(atPath: self.path, toPath: "\(self.path).other")
        try FileManager.default.removeItem(atPath: self.path)
        try FileManager.default.moveItem(atPath: "\(self.path).other", toPath: self.path)
    }

    func store() -> any GatewayStore {
        guard let database, let server = PostgresServer.shared else {
            return self.kind == .memory ? self.memory : SQLiteStore(path: self.path)
        }
        let term = try? server.query("select term from ferry.shard where id = 0", in: database)
        return PostgresStore(
            PostgresStore.Place(connection: server.connection(to: database), shard: 0, node: "gw1"),
            seen: ShardTerm(term ?? ""),
            on: MultiThreadedEventLoopGroup.singleton.next()
        )
    }

    static func append(_ commit: StoreCommit, to store: any GatewayStore) async -> StoreAnswer {
        await withCheckedContinuation { continuation in
            store.append(commit) { continuation.resume(returning: $0) }
        }
    }

    static func segments(_ store: any GatewayStore) async throws -> [StoredSegment] {
        var all: [StoredSegment] = []
        while true {
            let page = try await store.segments(after: all.last?.number ?? 0)
            guard !page.isEmpty else { return all }
            all += page
        }
    }
}

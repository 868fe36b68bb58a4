import FerryCore
import FerryPostgresTestSupport
import FerryShards
import Testing

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The place of provider tokens in PostgreSQL, against a real server.
@Suite(.enabled(if: PostgresServer.isAvailable), .timeLimit(.minutes(1)))
struct PostgresTokensTests {
    private let database: ShardDatabase
    private let tokens: PostgresTokens

    init() async throws {
        self.database = try await ShardDatabase()
        self.tokens = PostgresTokens(connection: self.database.connection, node: "gw1")
    }

    /// Offers a token, and returns the one that stands there then.
    private func offer(_ token: String, worn: String? = nil, clock: Int = 0, key: String = "KEY") async -> SharedToken?
    {
        let now = Int(Date().timeIntervalSince1970) + clock
        let offer = TokenOffer(teamID: "TEAM", keyID: key, token: token, issuedAt: UInt32(now), worn: worn)
        return await withCheckedContinuation { continuation in
            self.tokens.exchange(offer) { continuation.resume(returning: $0) }
        }
    }

    private func age(minutes: Int) throws {
        try self.database.query("update ferry.provider_token set minted_at = now() - interval '\(minutes) min'")
    }

    @Test func `The first token of a key stands for all processes`() async throws {
        #expect(await self.offer("one")?.token == "one")
        let other = PostgresTokens(connection: self.database.connection, node: "gw2")
        let offer = TokenOffer(teamID: "TEAM", keyID: "KEY", token: "two", issuedAt: 0, worn: nil)
        let found = await withCheckedContinuation { continuation in
            other.exchange(offer) { continuation.resume(returning: $0) }
        }
        #expect(found?.token == "one")
        #expect(await self.offer("three", key: "OTHER")?.token == "three")
    }

    @Test func `A token is replaced after 50 minutes, and its age is told`() async throws {
        _ = await self.offer("one")
        try self.age(minutes: 49)
        let old = try #require(await self.offer("two"))
        #expect(old.token == "one" && (49 * 60..<50 * 60).contains(old.age.components.seconds))
        try self.age(minutes: 51)
        let new = try #require(await self.offer("two"))
        #expect(new.token == "two" && new.age < .seconds(60))
    }

    @Test func `A worn token is replaced after 20 minutes, and once`() async throws {
        _ = await self.offer("one")
        try self.age(minutes: 19)
        #expect(await self.offer("two", worn: "one")?.token == "one")
        try self.age(minutes: 21)
        #expect(await self.offer("two", worn: "another")?.token == "one")
        #expect(await self.offer("two", worn: "one")?.token == "two")
        #expect(await self.offer("three", worn: "one")?.token == "two")
    }

    @Test(arguments: [-400, 400])
    func `The token of a wrong clock is not taken`(clock: Int) async throws {
        #expect(await self.offer("one", clock: clock)?.token == nil)
        #expect(await self.offer("two")?.token == "two")
        try self.age(minutes: 51)
        #expect(await self.offer("three", clock: clock)?.token == "two")
    }

    @Test func `After the end of its session the place is asked on another one`() async throws {
        _ = await self.offer("one")
        try self.database.query(
            """
            select pg_terminate_backend(pid) from pg_stat_activity
             where application_name = 'ferry gw1 tokens' and datname = current_database()
            """
        )
        // An offer that meets the end of the session has no answer.
        while await self.offer("two")?.token != "one" {}
    }
}

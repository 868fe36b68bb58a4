import NIOCore
import Testing

@testable import FerryShards

@Suite struct ShardLookTests {
    private static let start = NIODeadline.uptimeNanoseconds(1_000_000_000_000)

    private static func free(
        _ shard: Int,
        term: String = "a",
        isFreed: Bool = false,
        wanted: String? = nil
    ) -> FreeShard {
        FreeShard(shard: shard, term: ShardTerm(term), isFreed: isFreed, wanted: wanted)
    }

    /// Looks each half second. Returns the time of the first take of any shard, in milliseconds; nil: none in 70 s.
    private static func firstTake(
        _ look: inout ShardLook,
        kept: Set<Int> = [],
        rows: (_ milliseconds: Int64) -> [FreeShard]
    ) -> Int64? {
        for time in stride(from: Int64(0), through: 70_000, by: 500) {
            let now = Self.start + .milliseconds(time)
            if !look.looked(rows(time), sentAt: now, kept: kept, now: now).isEmpty { return time }
        }
        return nil
    }

    @Test func `a shard that was given up is taken at once, another one after the grace`() {
        var look = ShardLook(node: "gw1")
        #expect(Self.firstTake(&look) { _ in [Self.free(0, isFreed: true)] } == 0)
        look = ShardLook(node: "gw1")
        #expect(Self.firstTake(&look) { _ in [Self.free(0)] } == 4000)
    }

    @Test func `the grace begins anew under another term, after a look without the shard, and on another session`() {
        var look = ShardLook(node: "gw1")
        #expect(Self.firstTake(&look) { [Self.free(0, term: $0 < 2000 ? "a" : "b")] } == 6000)
        look = ShardLook(node: "gw1")
        #expect(Self.firstTake(&look) { $0 == 2000 ? [] : [Self.free(0)] } == 6500)
        look = ShardLook(node: "gw1")
        _ = look.looked([Self.free(0)], sentAt: Self.start, kept: [], now: Self.start)
        look.sessionEnded()
        let later = Self.start + .seconds(5)
        #expect(look.looked([Self.free(0)], sentAt: later, kept: [], now: later).isEmpty)
    }

    @Test func `a process waits half a second longer for each shard that it owns`() {
        var look = ShardLook(node: "gw1")
        #expect(Self.firstTake(&look, kept: [1, 2, 3]) { _ in [Self.free(0)] } == 5500)
        look = ShardLook(node: "gw1")
        let shards = (0..<3).map { Self.free($0, isFreed: true) }
        let takes = look.looked(shards, sentAt: Self.start, kept: [], now: Self.start)
        #expect(takes.map(\.shard) == [0])
    }

    @Test func `a shard with a keeper in this process is not taken`() {
        var look = ShardLook(node: "gw1")
        #expect(Self.firstTake(&look, kept: [0]) { _ in [Self.free(0)] } == nil)
    }

    @Test func `a shard that another node shall have is left alone for ten seconds`() {
        var look = ShardLook(node: "gw1")
        #expect(Self.firstTake(&look) { _ in [Self.free(0, isFreed: true, wanted: "gw2")] } == 10_000)
        look = ShardLook(node: "gw2")
        #expect(Self.firstTake(&look, kept: [1, 2]) { _ in [Self.free(0, isFreed: true, wanted: "gw2")] } == 0)
    }

    @Test func `a shard with an unknown client is tried again after a minute`() {
        var look = ShardLook(node: "gw1")
        look.refused(0, now: Self.start)
        #expect(Self.firstTake(&look) { _ in [Self.free(0, isFreed: true)] } == 60_000)
    }

    @Test func `rows that arrive late count from the sending of their look`() {
        var look = ShardLook(node: "gw1")
        _ = look.looked([Self.free(0)], sentAt: Self.start, kept: [], now: Self.start)
        // The process was paused behind the look.
        let sentAt = Self.start + .milliseconds(500)
        #expect(look.looked([Self.free(0)], sentAt: sentAt, kept: [], now: Self.start + .seconds(20)).isEmpty)
    }
}

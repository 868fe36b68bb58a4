import Ferry
import FerryCore
import FerryHTTP2
import FerryMachine
import FerryOpenSSL
import NIOCore
import Testing

/// The rules of ``SharedTokens`` in a fleet of processes, in virtual time.
@Suite(.timeLimit(.minutes(10))) struct TokenFleetTests {
    private static let minute = TokenFleet.minute

    /// Checks that the fleet had one token in 50 minutes, and nothing was refused or held.
    private static func checkOne(_ fleet: TokenFleet, hours: Int64, _ seed: UInt64 = 0) {
        let mints = fleet.place.mints
        #expect(Set(mints.map(\.token)) == fleet.allTokens, "seed \(seed)")
        #expect(mints.count == Int(hours * 60 / 50 + 1), "seed \(seed)")
        for (one, next) in zip(mints, mints.dropFirst()) {
            #expect((50 * Self.minute...51 * Self.minute).contains(next.at - one.at), "seed \(seed)")
        }
        #expect(fleet.expired == 0, "seed \(seed)")
        #expect(fleet.holds == 0, "seed \(seed)")
    }

    @Test func `twenty processes that start at once use one token in 50 minutes`() throws {
        let fleet = try TokenFleet()
        fleet.run(untilMinute: 180)
        Self.checkOne(fleet, hours: 3)
        fleet.checkIntervals()
        #expect(fleet.longestWait < 200)
        #expect(fleet.processes.allSatisfy { $0.changes.count == 4 })
        // Each process asks the place for each token, and seldom twice.
        #expect(fleet.place.offers < 20 * 4 * 2)
    }

    @Test(arguments: 0..<5) func `clocks that differ by minutes, starts, kills and slow answers make no other token`(
        round: Int
    ) throws {
        let seed = UInt64.random(in: 0...UInt64.max)
        var generator = SplitMix64(seed: seed)
        let fleet = try TokenFleet(12, seed: seed, skews: -240...240)
        fleet.place.delays = 2...1500
        for _ in 0..<36 {
            fleet.run(until: fleet.now + 5 * Self.minute)
            let index = Int.random(in: 0..<20, using: &generator)
            if index < fleet.processes.count {
                try fleet.restart(index)
            } else {
                try fleet.start(skew: .random(in: -240...240, using: &generator))
            }
        }
        fleet.run(untilMinute: 181)
        #expect(fleet.longestWait < 3000, "seed \(seed)")
        #expect(fleet.tokens.count == 1, "seed \(seed)")
        #expect(fleet.allTokens.isSubset(of: fleet.place.mints.map(\.token)), "seed \(seed)")
        #expect(fleet.place.mints.count == 4, "seed \(seed)")
        #expect(fleet.expired == 0 && fleet.holds == 0, "seed \(seed)")
        fleet.checkIntervals(slack: 480, seed)
    }

    @Test func `while the place is away for 70 minutes, each process has a token, and then all have one again`() throws
    {
        let fleet = try TokenFleet()
        fleet.run(untilMinute: 30)
        #expect(fleet.tokens.count == 1)
        fleet.place.mode = .away
        fleet.run(until: 60 * Self.minute - 1000)
        #expect(fleet.tokens.count == 1)
        fleet.run(untilMinute: 100)
        #expect(fleet.tokens.count == 20)
        #expect(fleet.place.mints.count == 1)
        fleet.place.mode = .here
        fleet.run(until: 100 * Self.minute + 30_000)
        #expect(fleet.tokens.count == 1)
        fleet.run(untilMinute: 180)
        #expect(fleet.tokens == [try #require(fleet.place.mints.last).token])
        #expect(fleet.place.mints.map { ($0.at + Self.minute / 2) / Self.minute } == [0, 100, 150])
        #expect(fleet.expired == 0 && fleet.holds == 0)
        #expect(fleet.longestWait < 200)
        fleet.checkIntervals()
    }

    @Test func `processes that start while the place is away agree 20 minutes later`() throws {
        let fleet = try TokenFleet()
        fleet.place.mode = .away
        fleet.run(untilMinute: 5)
        #expect(fleet.tokens.count == 20)
        fleet.place.mode = .here
        fleet.run(untilMinute: 19)
        #expect(fleet.tokens.count == 20)
        fleet.run(untilMinute: 21)
        #expect(fleet.tokens.count == 1)
        #expect(fleet.place.mints.count == 1)
        fleet.checkIntervals()
    }

    @Test func `where a place hangs, a process without a token waits 3 seconds, and others do not wait`()
        throws
    {
        let fleet = try TokenFleet()
        fleet.place.mode = .hanging
        fleet.run(untilMinute: 180)
        #expect((3000..<3100).contains(fleet.longestWait))
        #expect(fleet.expired == 0 && fleet.holds == 0)
        #expect(fleet.processes.allSatisfy { (3...4).contains($0.changes.count) })
        // Once at a time, and with a pause after each.
        #expect(fleet.place.offers < 20 * 180 * 5)
        fleet.checkIntervals()
        let healthy = try TokenFleet()
        healthy.run(untilMinute: 45)
        healthy.place.mode = .hanging
        healthy.run(until: 60 * Self.minute - 10_000)
        #expect(healthy.tokens.count == 1)
        #expect(healthy.longestWait < 200)
        healthy.place.mode = .here
        healthy.run(untilMinute: 61)
        #expect(healthy.place.mints.count == 2)
        #expect(healthy.tokens.count == 1)
    }

    @Test func `a place whose answers are lost has a token that all use later`() throws {
        let fleet = try TokenFleet()
        fleet.place.mode = .mute
        fleet.run(untilMinute: 1)
        fleet.place.mode = .here
        fleet.run(untilMinute: 22)
        #expect(fleet.tokens == [try #require(fleet.place.mints.first).token])
        fleet.run(untilMinute: 49)
        #expect(fleet.place.mints.count == 1)
        fleet.run(untilMinute: 51)
        #expect(fleet.place.mints.count == 2)
        #expect(fleet.tokens.count == 1)
    }

    @Test func `a process whose clock is wrong by hours uses the token of the others, and gives them none`() throws {
        for skew in [-7200, 7200] as [Int64] {
            let fleet = try TokenFleet(1, skews: skew...skew)
            for _ in 0..<5 { try fleet.start() }
            // Without a row it would use its own token.
            fleet.processes[0].next = 1000
            fleet.run(untilMinute: 180)
            Self.checkOne(fleet, hours: 3)
        }
    }

    @Test(arguments: [25, 45] as [Int64])
    func `a token that APNs refuses is replaced once, and every process gets the new one`(minute: Int64) throws {
        let fleet = try TokenFleet()
        fleet.run(untilMinute: minute)
        let first = try #require(fleet.tokens.first)
        fleet.judge = { token, _ in token == first ? .expiredProviderToken : nil }
        fleet.run(until: minute * Self.minute + 10_000)
        #expect(fleet.place.mints.count == 2)
        #expect(fleet.tokens == [try #require(fleet.place.mints.last).token])
        #expect(fleet.holds == 0)
        #expect(fleet.longestWait < 200)
    }

    @Test func `a token that is refused within 20 minutes is held by all, and then replaced once`() throws {
        let fleet = try TokenFleet()
        fleet.run(untilMinute: 5)
        let first = try #require(fleet.tokens.first)
        fleet.judge = { token, _ in token == first ? .expiredProviderToken : nil }
        fleet.run(untilMinute: 10)
        // A process that starts now learns it from APNs.
        try fleet.restart(0)
        fleet.run(untilMinute: 19)
        #expect(fleet.place.mints.count == 1)
        #expect(fleet.processes.allSatisfy { $0.holds.count == 1 || $0.holds.count == 2 })
        fleet.run(until: 20 * Self.minute + 15_000)
        #expect(fleet.place.mints.count == 2)
        #expect(fleet.tokens == [try #require(fleet.place.mints.last).token])
        // An age of the place is of a moment after the token was signed.
        fleet.checkIntervals(slack: 1)
    }

    @Test func `a token that APNs refuses while the place is away is not taken from the place later`() throws {
        let fleet = try TokenFleet(5)
        fleet.run(untilMinute: 22)
        let first = try #require(fleet.tokens.first)
        fleet.place.mode = .away
        fleet.judge = { token, _ in token == first ? .expiredProviderToken : nil }
        fleet.run(untilMinute: 30)
        #expect(fleet.tokens.count == 5)
        fleet.place.mode = .here
        fleet.run(untilMinute: 43)
        #expect(fleet.place.mints.count == 2)
        #expect(fleet.tokens == [try #require(fleet.place.mints.last).token])
    }

    @Test func `too many updates hold the process that hears it, and replace no token`() throws {
        let fleet = try TokenFleet()
        fleet.run(untilMinute: 10)
        fleet.judge = { _, process in process == 3 ? .tooManyProviderTokenUpdates : nil }
        fleet.run(untilMinute: 11)
        fleet.judge = { _, _ in nil }
        fleet.run(untilMinute: 49)
        #expect(fleet.place.mints.count == 1)
        #expect(fleet.tokens.count == 1)
        #expect(fleet.holds == 1)
        let hold = try #require(fleet.processes[3].holds.first)
        #expect(hold.until - hold.at >= 20 * Self.minute - 1)
    }

    @Test func `a place whose clock is set back or forward makes no token older than an hour`() throws {
        for (clock, mints) in [(-4, 3...4), (4, 4...4), (-15, 1...1)] as [(Int64, ClosedRange<Int>)] {
            let fleet = try TokenFleet()
            fleet.run(untilMinute: 30)
            fleet.place.clock = clock * Self.minute
            fleet.run(untilMinute: 180)
            #expect(fleet.expired == 0, "\(clock)")
            #expect(fleet.holds == 0, "\(clock)")
            // A place that is wrong by more than five minutes takes no offer, and every process is by itself.
            #expect(mints.contains(fleet.place.mints.count), "\(clock): \(fleet.place.mints.count)")
            #expect(fleet.tokens.count == (clock == -15 ? 20 : 1), "\(clock)")
        }
    }

    @Test func `what the key did not sign is not used, and stops nobody`() throws {
        let other = try ProviderTokenSource(key: .generate(), keyID: TokenFleet.keyID, teamID: TokenFleet.teamID)
        for text in [try other.token(), "nonsense", "", String(repeating: "a.b", count: 10_000)] {
            let fleet = try TokenFleet(3)
            fleet.place.set(text, minutesOld: 10)
            fleet.run(untilMinute: 39)
            #expect(fleet.tokens.count == 3)
            #expect(!fleet.allTokens.contains(text))
            fleet.run(untilMinute: 62)
            #expect(fleet.tokens.count == 1)
            #expect(fleet.place.mints.count == 1)
        }
    }

    @Test func `a process that was stopped during an exchange makes no token of its own, and uses no old one`() throws {
        for isAnswered in [false, true] {
            let fleet = try TokenFleet(2)
            fleet.place.delays = 1000...1000
            fleet.processes[1].next = 10_000
            fleet.run(untilMinute: 49)
            // The first process renews. The second begins to, and is stopped.
            fleet.processes[1].next = .max
            fleet.run(untilMinute: 52)
            if !isAnswered { fleet.place.mode = .hanging }
            fleet.ask(1)
            fleet.place.mode = .here
            fleet.processes[1].next = (52 + 110) * Self.minute
            fleet.run(untilMinute: 170)
            #expect(fleet.allTokens == Set(fleet.place.mints.map(\.token)))
            #expect(fleet.tokens.count == 1)
            #expect(fleet.expired == 0 && fleet.holds == 0)
        }
    }

    @Test func `the answer to an offer of a replaced key is ignored`() throws {
        let fleet = try TokenFleet(1)
        fleet.run(until: 1)
        #expect(fleet.place.offers == 1)
        fleet.place.mode = .away
        let key = try ES256Key.generate()
        try fleet.processes[0].source.replace(key: key, keyID: "ZZZZZ12345")
        fleet.run(untilMinute: 1)
        let token = try #require(fleet.processes[0].token.flatMap { GivenToken($0.utf8) })
        #expect(token.keyID == "ZZZZZ12345")
        #expect(fleet.allTokens.count == 1)
    }

    @Test func `tools learn that a token is on its way`() throws {
        let fleet = try TokenFleet(1)
        let error = #expect(throws: ProviderError.self) { try fleet.processes[0].source.token() }
        #expect(error?.code == .noProviderToken)
    }

    @Test func `no description shows an offer or a shared token`() throws {
        let offer = TokenOffer(teamID: "T", keyID: "K", token: "secret1", issuedAt: 1, worn: "secret2")
        for value in [offer, SharedToken(token: "secret3", age: .seconds(5))] as [Any] {
            var text = "\(value) \(String(reflecting: value))"
            dump(value, to: &text)
            #expect(!text.contains("secret"))
        }
    }
}

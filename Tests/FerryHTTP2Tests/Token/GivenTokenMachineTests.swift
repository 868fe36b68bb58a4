import FerryCore
import FerryHTTP2
import FerryMachine
import NIOCore
import Testing

@Suite struct GivenTokenMachineTests {
    /// A machine, the token to fetch, and two clocks.
    private struct Bench {
        var machine = GivenTokenMachine()
        var seconds: Int64 = 1000
        var epochSeconds: UInt32 = 1_700_000_000
        /// The token to fetch. Nil: there is none.
        var given: GivenToken?
        var fetches = 0

        var now: NIODeadline { .uptimeNanoseconds(0) + .seconds(self.seconds) }

        init(age: UInt32 = 0) throws {
            self.given = try GivenTokenTests.token(issuedAt: self.epochSeconds - age)
        }

        mutating func pass(minutes: Int64) { self.pass(seconds: minutes * 60) }

        mutating func pass(seconds: Int64) {
            self.seconds += seconds
            self.epochSeconds += UInt32(seconds)
        }

        /// Makes a new token available.
        mutating func make(keyID: String = "ABCDE12345") throws {
            self.given = try GivenTokenTests.token(keyID: keyID, issuedAt: self.epochSeconds)
        }

        mutating func ask() -> Authorization {
            switch self.machine.authorize(now: self.now) {
            case .token(let token): return .token(token)
            case .held(let until): return .held(until: until)
            case .fetch:
                self.fetches += 1
                guard let given else { return self.machine.notGiven(now: self.now) }
                return self.machine.given(given, now: self.now, epochSeconds: self.epochSeconds)
            }
        }

        mutating func token() -> ProviderToken? {
            if case .token(let token) = self.ask() { token } else { nil }
        }

        mutating func hold() -> Int64? {
            guard case .held(let until) = self.ask() else { return nil }
            return (until - self.now).nanoseconds / 1_000_000_000
        }

        mutating func refuse(_ reason: Reason, _ generation: UInt64) {
            self.machine.refused(reason, generation: generation, now: self.now)
        }
    }

    @Test func `a token is used as it was given, and looked for once a second`() throws {
        var bench = try Bench()
        let first = bench.token()
        let token = try #require(first)
        #expect(token.generation == 1 && token.key == 1)
        #expect(token.headerValue == Array("bearer \(GivenTokenTests.text())".utf8))
        for _ in 0..<100 { #expect(bench.token() == token) }
        #expect(bench.fetches == 1)
        bench.pass(seconds: 1)
        #expect(bench.token() == token)
        #expect(bench.fetches == 2)
    }

    @Test func `while there is none, an ask is held for a second, and what comes is used`() throws {
        var bench = try Bench()
        bench.given = nil
        #expect(bench.hold() == 1)
        #expect(bench.hold() == 1)
        #expect(bench.fetches == 1)
        bench.pass(seconds: 1)
        try bench.make()
        #expect(bench.token()?.generation == 1)
    }

    @Test func `a newer token is used when the one before was used for 20 minutes`() throws {
        var bench = try Bench()
        #expect(bench.token()?.generation == 1)
        bench.pass(minutes: 19)
        try bench.make()
        #expect(bench.token()?.generation == 1)
        bench.pass(minutes: 1)
        #expect(bench.token()?.generation == 2)
        #expect(bench.token()?.key == 1)
    }

    @Test func `a token is used until it is an hour old by what it says of itself`() throws {
        var bench = try Bench(age: 50 * 60)
        #expect(bench.token()?.generation == 1)
        bench.pass(seconds: 599)
        #expect(bench.token()?.generation == 1)
        bench.pass(seconds: 1)
        #expect(bench.hold() == 1)
        #expect(bench.machine.fault == .expired(seconds: 3600))
        // Ten minutes after the last change, but an hour after the last token was made.
        try bench.make()
        bench.pass(seconds: 1)
        #expect(bench.token()?.generation == 2)
        #expect(bench.machine.fault == nil)
    }

    @Test func `a token that does not say its age is used until it is refused`() throws {
        var bench = try Bench()
        bench.given = GivenToken(Array("opaque".utf8))
        #expect(bench.token()?.generation == 1)
        bench.pass(minutes: 600)
        #expect(bench.token()?.generation == 1)
        bench.refuse(.expiredProviderToken, 1)
        bench.pass(seconds: 1)
        #expect(bench.hold() == 1)
        #expect(bench.machine.fault == .refused)
        bench.given = GivenToken(Array("opaque2".utf8))
        bench.pass(seconds: 1)
        #expect(bench.token()?.generation == 2)
    }

    @Test func `one that is an hour old already is never used`() throws {
        var bench = try Bench(age: 3600)
        #expect(bench.hold() == 1)
        #expect(bench.machine.fault == .expired(seconds: 3600))
        #expect(bench.machine.count == 0)
    }

    @Test func `a wrong clock here does not keep a token from the future from being used for an hour`() throws {
        var bench = try Bench()
        bench.given = try GivenTokenTests.token(issuedAt: bench.epochSeconds + 7200)
        #expect(bench.token()?.generation == 1)
        bench.pass(seconds: 3599)
        #expect(bench.token()?.generation == 1)
        bench.pass(seconds: 1)
        #expect(bench.token() == nil)
    }

    @Test func `a refused token is replaced at once if it was made 20 minutes before, and else after 20 minutes`()
        throws
    {
        var old = try Bench(age: 40 * 60)
        #expect(old.token()?.generation == 1)
        old.refuse(.expiredProviderToken, 1)
        try old.make()
        old.pass(seconds: 1)
        #expect(old.token()?.generation == 2)

        // Both tokens are from a computer with a wrong clock: each would be refused in turn.
        var young = try Bench(age: 60)
        #expect(young.token()?.generation == 1)
        young.refuse(.expiredProviderToken, 1)
        try young.make()
        young.pass(seconds: 1)
        #expect(young.hold() == 1)
        young.pass(minutes: 20)
        #expect(young.token()?.generation == 2)
    }

    @Test func `a token of another key is used at once, also while those of the first are frozen`() throws {
        var bench = try Bench()
        #expect(bench.token()?.key == 1)
        bench.refuse(.tooManyProviderTokenUpdates, 1)
        #expect(bench.hold() == 1)
        try bench.make(keyID: "ZZZZZ99999")
        bench.pass(seconds: 1)
        let asked = bench.token()
        let token = try #require(asked)
        #expect(token.key == 2 && token.generation == 2)
        try bench.make(keyID: "ABCDE12345")
        bench.pass(seconds: 1)
        #expect(bench.token()?.key == 3)
    }

    @Test func `news of an older token is no news`() throws {
        var bench = try Bench()
        _ = bench.ask()
        bench.pass(minutes: 20)
        try bench.make()
        #expect(bench.token()?.generation == 2)
        bench.refuse(.expiredProviderToken, 1)
        #expect(bench.token()?.generation == 2)
        bench.refuse(.badDeviceToken, 2)
        #expect(bench.token()?.generation == 2)
    }

    @Test func `TooManyProviderTokenUpdates freezes for 20 minutes from the last`() throws {
        var bench = try Bench()
        _ = bench.ask()
        bench.refuse(.tooManyProviderTokenUpdates, 1)
        bench.pass(minutes: 5)
        bench.refuse(.tooManyProviderTokenUpdates, 1)
        for _ in 0..<1200 {
            #expect(bench.hold() == 1)
            bench.pass(seconds: 1)
        }
        #expect(bench.token()?.generation == 1)
    }

    @Test(arguments: 0..<100)
    func `whatever is given and refused, every hold lies ahead, and tokens of one key change as seldom as APNs wants`(
        round: Int
    ) throws {
        let seed = UInt64.random(in: 0...UInt64.max)
        var generator = SplitMix64(seed: seed)
        var bench = try Bench()
        // When the last token of the same key was made and taken.
        var last: (key: UInt64, generation: UInt64, taken: Int64, issuedAt: UInt32)?
        for _ in 0..<2000 {
            switch Int.random(in: 0..<20, using: &generator) {
            case 0...3: try bench.make()
            case 4 where Int.random(in: 0..<10, using: &generator) == 0: try bench.make(keyID: "ZZZZZ99999")
            case 5: bench.given = nil
            case 6: bench.refuse(.expiredProviderToken, bench.machine.count)
            case 7 where Int.random(in: 0..<10, using: &generator) == 0:
                bench.refuse(.tooManyProviderTokenUpdates, bench.machine.count)
            default: break
            }
            switch bench.ask() {
            case .token(let token):
                let issuedAt = try #require(bench.machine.current?.issuedAt)
                #expect(bench.epochSeconds - issuedAt < 3600, "seed \(seed)")
                if let last, last.key == token.key, last.generation != token.generation {
                    #expect(
                        bench.seconds - last.taken >= 1200 || issuedAt - last.issuedAt >= 1200,
                        "seed \(seed)"
                    )
                }
                if last?.generation != token.generation {
                    last = (token.key, token.generation, bench.seconds, issuedAt)
                }
            case .held(let until):
                #expect(until > bench.now, "seed \(seed)")
                #expect(until <= bench.now + .minutes(20), "seed \(seed)")
            case .awaited, .certificate: Issue.record("an answer that this machine has not, seed \(seed)")
            }
            bench.pass(seconds: Int64.random(in: 0...300, using: &generator))
        }
    }
}

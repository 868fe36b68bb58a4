import FerryCore
import FerryHTTP2
import FerryMachine
import NIOCore
import Testing

/// A token machine whose tokens other processes share.
@Suite struct AdoptedTokenTests {
    private static func given(_ number: UInt8, keyID: String = TokenBench.keyID, teamID: String = TokenBench.teamID)
        throws -> GivenToken
    {
        let header = Base64URL.encode(#"{"alg":"ES256","kid":"\#(keyID)"}"#.utf8)
        let claims = Base64URL.encode(#"{"iss":"\#(teamID)","iat":1234}"#.utf8)
        let dot = [UInt8(ascii: ".")]
        return try #require(
            GivenToken(header + dot + claims + dot + Base64URL.encode([UInt8](repeating: number, count: 64)))
        )
    }

    /// Asks for a token until there is something to sign.
    private static func bench() throws -> TokenBench {
        var bench = try TokenBench()
        try self.draft(&bench)
        return bench
    }

    private static func draft(_ bench: inout TokenBench) throws {
        guard case .sign = bench.machine.authorize(now: bench.now, epochSeconds: bench.epochSeconds) else {
            Issue.record("nothing to sign")
            return
        }
    }

    private static func adopt(_ number: UInt8, minutes: Int64, _ bench: inout TokenBench) throws -> UInt64? {
        let answer = bench.machine.adopt(try self.given(number), age: .minutes(minutes), now: bench.now)
        guard case .token(let token) = answer else { return nil }
        return token.generation
    }

    @Test func `an adopted token is renewed by its age, which may be longer than this computer runs`() throws {
        var bench = try Self.bench()
        #expect(bench.seconds < 40 * 60)
        #expect(try Self.adopt(1, minutes: 40, &bench) == 1)
        #expect(bench.machine.issuedAt == 1234)
        bench.pass(seconds: 10 * 60 - 1)
        #expect(bench.generation() == 1)
        #expect(bench.mints.isEmpty)
        bench.pass(seconds: 1)
        #expect(bench.generation() == 2)
        #expect(bench.mints.count == 1)
    }

    @Test func `an adopted token that is due is used until it is an hour old, and no longer`() throws {
        var bench = try Self.bench()
        #expect(try Self.adopt(1, minutes: 55, &bench) == 1)
        bench.canSign = false
        #expect(bench.generation() == 1)
        bench.pass(seconds: 5 * 60 - 1)
        #expect(bench.generation() == 1)
        bench.pass(seconds: 1)
        #expect(bench.generation() == nil)
        var other = try Self.bench()
        #expect(try Self.adopt(1, minutes: 60, &other) == nil)
    }

    @Test func `a token of another key or team is not adopted, nor one without a draft`() throws {
        var bench = try Self.bench()
        for given in [try Self.given(1, keyID: "ZZZZZ12345"), try Self.given(1, teamID: "ZZZZZ12345")] {
            #expect(bench.machine.adopt(given, age: .zero, now: bench.now) == nil)
        }
        _ = bench.machine.signed(bench.signature, now: bench.now)
        #expect(try Self.adopt(1, minutes: 0, &bench) == nil)
    }

    @Test func `a refused adopted token is held until it is 20 minutes old, and is not adopted again`() throws {
        var bench = try Self.bench()
        #expect(try Self.adopt(1, minutes: 5, &bench) == 1)
        #expect(bench.machine.wornToken == nil)
        bench.refuse(.expiredProviderToken, generation: 1)
        #expect(bench.machine.wornToken.map(Array.init) == (try Self.given(1)).text)
        #expect(bench.hold() == 900)
        bench.pass(minutes: 15)
        try Self.draft(&bench)
        #expect(try Self.adopt(1, minutes: 20, &bench) == nil)
        #expect(bench.machine.meanwhile(now: bench.now) == nil)
        #expect(bench.machine.isPatient(with: try Self.given(1), now: bench.now))
        #expect(!bench.machine.isPatient(with: try Self.given(2), now: bench.now))
        #expect(try Self.adopt(2, minutes: 0, &bench) == 2)
        #expect(bench.generation() == 2)
    }

    @Test func `a token that is refused while its successor is chosen is not adopted again`() throws {
        var bench = try Self.bench()
        #expect(try Self.adopt(1, minutes: 30, &bench) == 1)
        bench.pass(minutes: 20)
        try Self.draft(&bench)
        bench.refuse(.expiredProviderToken, generation: 1)
        #expect(try Self.adopt(1, minutes: 0, &bench) == nil)
    }

    @Test func `a refused token is not adopted after a token that was signed alone`() throws {
        var bench = try Self.bench()
        #expect(try Self.adopt(1, minutes: 25, &bench) == 1)
        bench.refuse(.expiredProviderToken, generation: 1)
        try Self.draft(&bench)
        _ = bench.machine.signed(bench.signature, now: bench.now, alone: true)
        bench.pass(minutes: 20)
        try Self.draft(&bench)
        #expect(bench.machine.wornToken.map(Array.init) == (try Self.given(1)).text)
        #expect(try Self.adopt(1, minutes: 45, &bench) == nil)
        #expect(try Self.adopt(2, minutes: 45, &bench) == 3)
    }

    @Test func `too many updates hold an adopted token for 20 minutes`() throws {
        var bench = try Self.bench()
        #expect(try Self.adopt(1, minutes: 5, &bench) == 1)
        bench.refuse(.tooManyProviderTokenUpdates, generation: 1)
        #expect(bench.hold() == 1200)
        bench.pass(minutes: 20)
        #expect(bench.generation() == 1)
    }

    @Test func `a token that was signed alone is renewed at 20 minutes, or used for an hour`()
        throws
    {
        var bench = try Self.bench()
        _ = bench.machine.signed(bench.signature, now: bench.now, alone: true)
        bench.pass(seconds: 20 * 60 - 1)
        #expect(bench.generation() == 1)
        bench.pass(seconds: 1)
        bench.canSign = false
        for _ in 0..<40 {
            try Self.draft(&bench)
            #expect(bench.generation() == 1)
            bench.pass(minutes: 1)
        }
        #expect(bench.generation() == nil)
    }

    @Test func `a token that was signed alone and stands in the place after all is used for 50 minutes`() throws {
        var bench = try Self.bench()
        guard case .token(let token) = bench.machine.signed(bench.signature, now: bench.now, alone: true),
            let given = GivenToken(token.headerValue)
        else {
            Issue.record("no token")
            return
        }
        bench.pass(minutes: 20)
        try Self.draft(&bench)
        #expect(bench.machine.adopt(given, age: .minutes(19), now: bench.now) == .token(token))
        bench.pass(seconds: 30 * 60 - 1)
        #expect(bench.generation() == 1)
        // A place whose clock was set back does not make it younger.
        bench.pass(seconds: 1)
        try Self.draft(&bench)
        #expect(bench.machine.adopt(given, age: .minutes(30), now: bench.now) == nil)
        #expect(bench.machine.isPatient(with: given, now: bench.now))
        #expect(bench.machine.meanwhile(now: bench.now) == token)
    }

    @Test func `a token that is an hour old is worn`() throws {
        var bench = try Self.bench()
        #expect(try Self.adopt(1, minutes: 0, &bench) == 1)
        bench.pass(minutes: 50)
        try Self.draft(&bench)
        #expect(bench.machine.wornToken == nil)
        _ = bench.machine.signFailed(now: bench.now)
        bench.pass(minutes: 10)
        try Self.draft(&bench)
        #expect(bench.machine.wornToken.map(Array.init) == (try Self.given(1)).text)
        #expect(!bench.machine.isPatient(with: try Self.given(1), now: bench.now))
    }

    @Test func `bytes to sign are made anew after 5 seconds, with the time of then`() throws {
        var bench = try Self.bench()
        let first = bench.machine.authorize(now: bench.now, epochSeconds: bench.epochSeconds)
        bench.pass(seconds: 5)
        #expect(bench.machine.authorize(now: bench.now, epochSeconds: bench.epochSeconds) != first)
        _ = bench.machine.signed(bench.signature, now: bench.now)
        #expect(bench.machine.issuedAt == bench.epochSeconds)
    }
}

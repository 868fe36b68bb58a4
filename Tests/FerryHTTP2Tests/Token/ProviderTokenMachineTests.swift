import FerryCore
import FerryHTTP2
import FerryMachine
import FerryOpenSSL
import NIOCore
import Testing

@Suite struct ProviderTokenMachineTests {
    @Test func `the first ask wants bytes signed, which become the token`() throws {
        let key = try ES256Key.generate()
        var bench = try TokenBench()
        #expect(bench.machine.mintCount == 0)
        #expect(bench.machine.issuedAt == nil)
        guard case .sign(let input) = bench.machine.authorize(now: bench.now, epochSeconds: bench.epochSeconds) else {
            Issue.record("nothing to sign")
            return
        }
        guard case .token(let token) = bench.machine.signed(try key.sign(input), now: bench.now) else {
            Issue.record("no token")
            return
        }
        let value = String(decoding: token.headerValue, as: UTF8.self)
        #expect(value.hasPrefix("bearer "))
        let parts = value.dropFirst("bearer ".count).split(separator: ".", omittingEmptySubsequences: false)
        #expect(parts.count == 3)
        let header = try TokenBench.json(parts[0])
        #expect(header as? [String: String] == ["alg": "ES256", "kid": TokenBench.keyID])
        let claims = try TokenBench.json(parts[1])
        #expect(claims.count == 2)
        #expect(claims["iss"] as? String == TokenBench.teamID)
        #expect(claims["iat"] as? Int == 1_700_000_000)
        let signature = try #require(Base64URL.decode(parts[2].utf8))
        #expect(key.isValidSignature(signature, for: Array("\(parts[0]).\(parts[1])".utf8)))
        #expect(bench.machine.authorize(now: bench.now, epochSeconds: 0) == .token(token))
        #expect(bench.machine.mintCount == 1)
        #expect(bench.machine.issuedAt == 1_700_000_000)
    }

    @Test func `until the signature comes, the same bytes are wanted`() throws {
        var bench = try TokenBench()
        let first = bench.machine.authorize(now: bench.now, epochSeconds: 1)
        bench.pass(seconds: 1)
        #expect(bench.machine.authorize(now: bench.now, epochSeconds: 2) == first)
        _ = bench.machine.signed(bench.signature, now: bench.now)
        let token = bench.ask()
        #expect(bench.machine.signed([1, 2, 3], now: bench.now) == token)
        #expect(bench.machine.signFailed(now: bench.now) == token)
        #expect(bench.machine.mintCount == 1)
    }

    @Test func `a token is renewed when it is 50 minutes old`() throws {
        var bench = try TokenBench()
        #expect(bench.generation() == 1)
        bench.pass(seconds: 50 * 60 - 1)
        #expect(bench.generation() == 1)
        bench.pass(seconds: 1)
        #expect(bench.generation() == 2)
        #expect(bench.mints == [1000, 1000 + 50 * 60])
    }

    @Test func `a wall clock that jumps changes only what the next token says of its time`() throws {
        var bench = try TokenBench()
        #expect(bench.generation() == 1)
        for jumped in [0, UInt32.max, 1_700_000_000 - 86_400, 1_700_000_000 + 86_400] as [UInt32] {
            bench.epochSeconds = jumped
            #expect(bench.generation() == 1)
        }
        bench.seconds += 50 * 60
        bench.epochSeconds = 12
        #expect(bench.generation() == 2)
        #expect(bench.machine.issuedAt == 12)
    }

    @Test func `an expired token is renewed once, if the last is 20 minutes old`() throws {
        var bench = try TokenBench()
        #expect(bench.generation() == 1)
        bench.pass(minutes: 20)
        bench.refuse(.expiredProviderToken, generation: 1)
        #expect(bench.generation() == 2)
        // Late answers to requests that carried the first token.
        bench.refuse(.expiredProviderToken, generation: 1)
        #expect(bench.generation() == 2)
    }

    @Test func `an expired token that is younger is held until it is 20 minutes old`() throws {
        var bench = try TokenBench()
        #expect(bench.generation() == 1)
        bench.pass(minutes: 5)
        bench.refuse(.expiredProviderToken, generation: 1)
        #expect(bench.hold() == 900)
        bench.pass(seconds: 15 * 60 - 1)
        #expect(bench.hold() == 1)
        bench.pass(seconds: 1)
        #expect(bench.generation() == 2)
    }

    @Test func `a new token that is refused as expired waits like any other`() throws {
        var bench = try TokenBench()
        #expect(bench.generation() == 1)
        for generation in 1...5 as ClosedRange<UInt64> {
            bench.refuse(.expiredProviderToken, generation: generation)
            #expect(bench.hold() == 1200)
            bench.pass(minutes: 20)
            #expect(bench.generation() == generation + 1)
        }
        #expect(bench.mints.count == 6)
    }

    @Test func `what is said of a token that was never made is no news`() throws {
        var bench = try TokenBench()
        bench.refuse(.expiredProviderToken, generation: 0)
        bench.refuse(.expiredProviderToken, generation: 1)
        #expect(bench.generation() == 1)
        bench.refuse(.expiredProviderToken, generation: 2)
        #expect(bench.generation() == 1)
    }

    @Test func `too many updates freeze the source for 20 minutes, and again with each such answer`() throws {
        var bench = try TokenBench()
        #expect(bench.generation() == 1)
        bench.pass(minutes: 30)
        bench.refuse(.tooManyProviderTokenUpdates, generation: 1)
        #expect(bench.hold() == 1200)
        bench.pass(minutes: 15)
        bench.refuse(.tooManyProviderTokenUpdates, generation: 1)
        #expect(bench.hold() == 1200)
        bench.pass(seconds: 20 * 60 - 1)
        #expect(bench.hold() == 1)
        bench.pass(seconds: 1)
        #expect(bench.generation() == 2)
        #expect(bench.mints == [1000, 1000 + 65 * 60])
    }

    @Test func `a token that is not old yet is used again after a freeze`() throws {
        var bench = try TokenBench()
        #expect(bench.generation() == 1)
        bench.refuse(.tooManyProviderTokenUpdates, generation: 1)
        bench.pass(minutes: 20)
        #expect(bench.generation() == 1)
        #expect(bench.mints.count == 1)
    }

    @Test func `a freeze comes before the first token, too`() throws {
        var bench = try TokenBench()
        bench.refuse(.tooManyProviderTokenUpdates, generation: 0)
        #expect(bench.hold() == 1200)
        bench.pass(minutes: 20)
        #expect(bench.generation() == 1)
    }

    @Test func `a signature that fails is tried again 10 seconds later`() throws {
        var bench = try TokenBench()
        bench.canSign = false
        #expect(bench.hold() == 10)
        bench.pass(seconds: 4)
        #expect(bench.hold() == 6)
        bench.canSign = true
        #expect(bench.hold() == 6)
        bench.pass(seconds: 6)
        #expect(bench.generation() == 1)
    }

    @Test func `while a renewal cannot be signed, the token before is used until it is an hour old`() throws {
        var bench = try TokenBench()
        #expect(bench.generation() == 1)
        bench.canSign = false
        bench.pass(minutes: 50)
        for _ in 0..<599 {
            #expect(bench.generation() == 1)
            bench.pass(seconds: 1)
        }
        bench.pass(seconds: 1)
        #expect(bench.generation() == nil)
        bench.canSign = true
        bench.pass(seconds: 10)
        #expect(bench.generation() == 2)
    }

    @Test func `a token that is refused while its renewal waits for a signature is not used again`() throws {
        var bench = try TokenBench()
        #expect(bench.generation() == 1)
        bench.pass(minutes: 50)
        guard case .sign = bench.machine.authorize(now: bench.now, epochSeconds: 1) else {
            Issue.record("nothing to sign")
            return
        }
        bench.refuse(.expiredProviderToken, generation: 1)
        #expect(bench.machine.signFailed(now: bench.now) == .held(until: bench.now + .seconds(10)))
    }

    @Test(
        arguments: [
            .invalidProviderToken, .missingProviderToken, .unrelatedKeyIDInToken, .badEnvironmentKeyIDInToken,
            .forbidden, .tooManyRequests, Reason(rawValue: "ANewOne"),
        ] as [Reason]
    )
    func `other reasons change nothing`(reason: Reason) throws {
        var bench = try TokenBench()
        #expect(bench.generation() == 1)
        bench.pass(minutes: 30)
        bench.refuse(reason, generation: 1)
        #expect(bench.generation() == 1)
    }

    @Test func `no description shows the token`() throws {
        var bench = try TokenBench()
        let authorization = bench.ask()
        guard case .token(let token) = authorization else {
            Issue.record("no token")
            return
        }
        let bytes = token.headerValue.map(String.init).joined(separator: ", ")
        var texts = ["\(token)", String(reflecting: token), "\(authorization)", String(reflecting: authorization)]
        for value in [token, authorization, bench.machine] as [Any] {
            var text = ""
            dump(value, to: &text)
            texts.append(text)
        }
        for text in texts {
            #expect(!text.contains(String(decoding: token.headerValue, as: UTF8.self)))
            #expect(!text.contains(bytes))
            #expect(!text.contains("headerValue"))
        }
    }

    @Test func `another key signs at once, and what was said of the first key is forgotten`() throws {
        var bench = try TokenBench()
        #expect(bench.generation() == 1)
        bench.refuse(.expiredProviderToken, generation: 1)
        bench.refuse(.tooManyProviderTokenUpdates, generation: 1)
        #expect(bench.hold() == 1200)
        bench.machine.replaceKey(try #require(DeveloperIdentifier("ZZZZZ99999")))
        guard case .token(let token) = bench.ask() else {
            Issue.record("no token")
            return
        }
        #expect(token.generation == 2 && token.key == 2)
        let header = String(decoding: token.headerValue, as: UTF8.self).dropFirst("bearer ".count).split(
            separator: "."
        )[0]
        #expect(try TokenBench.json(header)["kid"] as? String == "ZZZZZ99999")
        bench.pass(minutes: 19)
        #expect(bench.generation() == 2)
    }
}

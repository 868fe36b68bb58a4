internal import FerryCore
internal import FerryHTTP2
internal import FerryOpenSSL
internal import Foundation
internal import NIOCore
internal import Testing

@testable import FerryTesting

struct ProviderTokenVerifierTests {
    static let now: UInt32 = 1_700_000_000
    let key: ES256Key
    let other: ES256Key
    var verifier: ProviderTokenVerifier

    init() throws {
        self.key = try ES256Key.generate()
        self.other = try ES256Key.generate()
        self.verifier = ProviderTokenVerifier([
            .init(self.key, keyID: "ABCDE12345", teamID: "FGHIJ67890"),
            .init(self.other, keyID: "ZZZZZ12345", teamID: "FGHIJ67890"),
        ])
    }

    private func base64(_ bytes: some Sequence<UInt8>) -> String {
        Data(bytes).base64EncodedString()
            .replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
    }

    /// Returns a token of these parts, with the key's signature.
    private func value(
        header: String = #"{"alg":"ES256","kid":"ABCDE12345"}"#,
        claims: String = #"{"iss":"FGHIJ67890","iat":1700000000}"#,
        by key: ES256Key? = nil
    ) throws -> String {
        let input = "\(self.base64(header.utf8)).\(self.base64(claims.utf8))"
        return try "bearer \(input).\(self.base64((key ?? self.key).sign(Array(input.utf8))))"
    }

    private mutating func verdict(_ value: String, at time: UInt32 = Self.now) -> ProviderTokenVerifier.Verdict {
        Array(value.utf8).withUnsafeBufferPointer { self.verifier.verify($0, epochSeconds: time) }
    }

    private func refusal(_ verdict: ProviderTokenVerifier.Verdict) -> Reason? {
        if case .refused(let reason) = verdict { reason } else { nil }
    }

    @Test
    mutating func `a good token is accepted, also with other members, in another order, and with Bearer in capitals`()
        throws
    {
        let value = try self.value()
        guard case .ok(let token) = self.verdict(value) else {
            Issue.record("refused")
            return
        }
        #expect(token.keyID == "ABCDE12345")
        #expect(token.teamID == "FGHIJ67890")
        #expect(token.issuedAt == 1_700_000_000)
        #expect(self.verdict(value) == .ok(token))
        let typed = try self.value(
            header: #" { "typ" : "JWT", "kid" : "ABCDE\u00312345", "alg" : "ES256" } "#,
            claims: #"{"iat":1700000000,"exp":[],"iss":"FGHIJ67890"}"#
        )
        #expect(self.refusal(self.verdict(typed)) == nil)
        #expect(self.refusal(self.verdict(value.replacing("bearer", with: "Bearer"))) == nil)
    }

    @Test mutating func `a time with a fraction is accepted, because PyAPNs2 writes it`() throws {
        let value = try self.value(claims: #"{"iss":"FGHIJ67890","iat":1700000000.75}"#)
        guard case .ok(let token) = self.verdict(value) else {
            Issue.record("refused")
            return
        }
        #expect(token.issuedAt == 1_700_000_000)
    }

    @Test
    mutating func `a signature in DER form is accepted, because Pushy sends it, but a changed one is not`() throws {
        let value = try self.value()
        let parts = value.split(separator: ".").map(String.init)
        let raw = try #require(Base64URL.decode(Array(parts[2].utf8)[...]))
        func integer(_ bytes: ArraySlice<UInt8>) -> [UInt8] {
            let digits = Array(bytes.drop { $0 == 0 })
            let positive = digits.first.map { $0 >= 0x80 } ?? true ? [0] + digits : digits
            return [2, UInt8(positive.count)] + positive
        }
        let numbers = integer(raw[..<32]) + integer(raw[32...])
        let der = [0x30, UInt8(numbers.count)] + numbers
        #expect(self.refusal(self.verdict("\(parts[0]).\(parts[1]).\(self.base64(der))")) == nil)
        for place in der.indices {
            var changed = der
            changed[place] ^= 1
            let verdict = self.verdict("\(parts[0]).\(parts[1]).\(self.base64(changed))")
            #expect(self.refusal(verdict) == .invalidProviderToken)
        }
    }

    @Test mutating func `the age is checked each time, and a token is good for an hour but not a second more`() throws {
        let value = try self.value()
        for _ in 0..<2 {
            #expect(self.refusal(self.verdict(value, at: Self.now + 3600)) == nil)
            #expect(self.refusal(self.verdict(value, at: Self.now + 3601)) == .expiredProviderToken)
            #expect(self.refusal(self.verdict(value, at: .max)) == .expiredProviderToken)
            #expect(self.refusal(self.verdict(value, at: Self.now - 3600)) == nil)
            #expect(self.refusal(self.verdict(value, at: Self.now - 3601)) == .invalidProviderToken)
            #expect(self.refusal(self.verdict(value, at: 0)) == .invalidProviderToken)
        }
        for (time, reason) in [
            (Int64.min, .expiredProviderToken), (-1, .expiredProviderToken), (Int64.max, .invalidProviderToken),
        ] as [(Int64, Reason)] {
            let value = try self.value(claims: #"{"iss":"FGHIJ67890","iat":\#(time)}"#)
            #expect(self.refusal(self.verdict(value)) == reason)
        }
    }

    @Test mutating func `a missing token is reported as missing`() {
        #expect(self.verifier.verify(nil, epochSeconds: Self.now) == .refused(.missingProviderToken))
        for value in ["", "bearer", "bearer ", "Basic YTpi", "eyJh.eyJp.c2ln"] {
            #expect(self.refusal(self.verdict(value)) == .missingProviderToken, "\(value)")
        }
    }

    @Test mutating func `a token is refused if it is malformed, signed by another key, or of unknown names`() throws {
        let good = try self.value()
        let parts = good.dropFirst("bearer ".count).split(separator: ".").map(String.init)
        let claims = #"{"iss":"FGHIJ67890","iat":1700000000}"#
        var values = [
            try self.value(by: self.other),
            try self.value(header: #"{"alg":"ES256","kid":"ZZZZZ12345"}"#),
            try self.value(header: #"{"alg":"HS256","kid":"ABCDE12345"}"#),
            try self.value(header: #"{"alg":"none","kid":"ABCDE12345"}"#),
            try self.value(header: #"{"kid":"ABCDE12345"}"#),
            try self.value(header: #"{"alg":"ES256"}"#),
            try self.value(header: #"{"alg":"ES256","kid":1}"#),
            try self.value(header: #"{"alg":"ES256","kid":"ABCDE12345","kid":"ABCDE12345"}"#),
            try self.value(header: #"{"alg":"ES256","kid":"\ud800BCDE12345"}"#),
            try self.value(header: #"["alg","ES256"]"#),
            try self.value(header: ""),
            try self.value(header: "{"),
            try self.value(claims: #"{"iss":"XXXXX67890","iat":1700000000}"#),
            try self.value(claims: #"{"iss":"FGHIJ67890"}"#),
            try self.value(claims: #"{"iss":"FGHIJ67890","iat":"1700000000"}"#),
            try self.value(claims: #"{"iss":"FGHIJ67890","iat":1e400}"#),
            try self.value(claims: #"{"iss":"FGHIJ67890","iat":99999999999999999999}"#),
            try self.value(claims: claims + "x"),
            "bearer .", "bearer ..", "bearer ...", "bearer a.b", "bearer é.é.é", "bearer \0.\0.\0",
            good + ".", good + "=", good + "A", "bearer  " + good.dropFirst(7), good + " ",
            "bearer \(parts[0]).\(parts[1]).", "bearer \(parts[0]).\(parts[1])",
            "bearer \(parts[1]).\(parts[0]).\(parts[2])",
            "bearer " + String(repeating: "A", count: 2000),
            "bearer " + String(repeating: "A", count: 1_000_000),
            "bearer " + String(repeating: ".", count: 2000),
        ]
        values.append(try self.value(claims: "{" + String(repeating: "[", count: 1000)))
        for value in values {
            #expect(self.refusal(self.verdict(value)) == .invalidProviderToken, "\(value.prefix(300))")
            // The second verdict comes from the remembered values.
            #expect(self.refusal(self.verdict(value)) == .invalidProviderToken, "\(value.prefix(300))")
        }
        #expect(self.refusal(self.verdict(good)) == nil)
    }

    @Test mutating func `a token with a changed byte is never accepted, and never crashes the verifier`() throws {
        let good = Array(try self.value().utf8)
        for place in good.indices.dropFirst("bearer ".utf8.count) {
            for byte in [0, 0x2e, 0x41, 0x7f, 0xff] as [UInt8] where byte != good[place] {
                var bad = good
                bad[place] = byte
                let verdict = bad.withUnsafeBufferPointer { self.verifier.verify($0, epochSeconds: Self.now) }
                #expect(self.refusal(verdict) == .invalidProviderToken)
            }
        }
        for length in good.indices {
            let verdict = good[..<length].withUnsafeBufferPointer {
                self.verifier.verify($0, epochSeconds: Self.now)
            }
            #expect(self.refusal(verdict) != nil)
        }
    }

    @Test mutating func `the verifier distinguishes more tokens than it remembers`() throws {
        let values = try (0..<10).map { try self.value(claims: #"{"iss":"FGHIJ67890","iat":\#(1_700_000_000 + $0)}"#) }
        let first = values.map { self.verdict($0) }
        #expect(Set(first).count == 10)
        #expect(values.map { self.verdict($0) } == first)
    }
}

struct ProviderTokenHistoryTests {
    private static let start = NIODeadline.uptimeNanoseconds(1_000_000_000_000)

    private static func token(_ fingerprint: Int, key: String = "ABCDE12345") -> ProviderTokenVerifier.Token {
        ProviderTokenVerifier.Token(keyID: key, teamID: "FGHIJ67890", issuedAt: 0, fingerprint: fingerprint)
    }

    @Test func `the tokens of a connection may change once, and once more 20 minutes later`() {
        var history = ProviderTokenHistory()
        #expect(history.use(Self.token(1), now: Self.start) == nil)
        #expect(history.use(Self.token(1), now: Self.start) == nil)
        #expect(history.use(Self.token(2), now: Self.start + .minutes(1)) == nil)
        #expect(history.use(Self.token(3), now: Self.start + .minutes(20)) == .tooManyProviderTokenUpdates)
        #expect(history.use(Self.token(2), now: Self.start + .minutes(20)) == nil)
        #expect(history.use(Self.token(3), now: Self.start + .minutes(21)) == nil)
        #expect(history.use(Self.token(4), now: Self.start + .minutes(22)) == .tooManyProviderTokenUpdates)
    }

    @Test func `the tokens of a connection may change as often as a script allows`() {
        var history = ProviderTokenHistory(updateInterval: .seconds(1))
        for second in 0..<10 {
            #expect(history.use(Self.token(second), now: Self.start + .seconds(Int64(second))) == nil)
        }
        #expect(history.use(Self.token(-1), now: Self.start + .milliseconds(9500)) == .tooManyProviderTokenUpdates)
    }

    @Test func `the tokens of a connection all have one key`() {
        var history = ProviderTokenHistory()
        #expect(history.use(Self.token(1), now: Self.start) == nil)
        let other = Self.token(2, key: "ZZZZZ12345")
        #expect(history.use(other, now: Self.start + .minutes(60)) == .unrelatedKeyIDInToken)
        #expect(history.use(Self.token(1), now: Self.start + .minutes(60)) == nil)
        var another = ProviderTokenHistory()
        #expect(another.use(other, now: Self.start) == nil)
    }
}

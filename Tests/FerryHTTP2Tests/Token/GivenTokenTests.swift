import FerryCore
import FerryHTTP2
import Testing

@Suite struct GivenTokenTests {
    /// Returns a token in Apple's form. Its signature signs nothing.
    static func text(keyID: String = "ABCDE12345", issuedAt: UInt32 = 1_700_000_000, signature: Int = 64) -> String {
        let parts = [
            Array(#"{"alg":"ES256","kid":"\#(keyID)"}"#.utf8), Array(#"{"iss":"FGHIJ67890","iat":\#(issuedAt)}"#.utf8),
            [UInt8](repeating: 7, count: signature),
        ]
        return parts.map { String(decoding: Base64URL.encode($0), as: UTF8.self) }.joined(separator: ".")
    }

    static func token(keyID: String = "ABCDE12345", issuedAt: UInt32 = 1_700_000_000) throws -> GivenToken {
        try #require(GivenToken(Array(self.text(keyID: keyID, issuedAt: issuedAt).utf8)))
    }

    @Test(arguments: ["", "\n", "bearer ", " \t\r\n", "Bearer "])
    func `a token is read with what stands around it in files and fields`(before: String) throws {
        let text = Self.text()
        let token = try #require(GivenToken(Array("\(before)\(text)\r\n\n".utf8)))
        #expect(String(decoding: token.text, as: UTF8.self) == text)
        #expect(token.keyID == "ABCDE12345")
        #expect(token.teamID == "FGHIJ67890")
        #expect(token.issuedAt == 1_700_000_000)
    }

    @Test(arguments: ["opaque-token", "a.b.c", "e30.e30.e30", "x.y"])
    func `a token of another kind is taken as it is, and tells nothing`(text: String) throws {
        let token = try #require(GivenToken(Array(text.utf8)))
        #expect(token.text == Array(text.utf8))
        #expect(token.keyID == nil && token.issuedAt == nil)
    }

    @Test(
        arguments: [
            "", " \n", "two words", "é", "a\u{7f}b", String(repeating: "a", count: 4097),
            GivenTokenTests.text(signature: 63), GivenTokenTests.text(signature: 0),
            String(GivenTokenTests.text().prefix(20)), String(GivenTokenTests.text().prefix(70)),
            "{\"token\":\"\(GivenTokenTests.text())\"}\n{}",
        ]
    )
    func `what no field can carry, or is half a token, is none`(text: String) {
        #expect(GivenToken(Array(text.utf8)) == nil)
    }

    @Test func `no description shows the token`() throws {
        let token = try Self.token()
        var dumped = ""
        dump(token, to: &dumped)
        for text in ["\(token)", String(reflecting: token), dumped] {
            #expect(!text.contains("eyJ"))
            #expect(text.contains("ABCDE12345"))
        }
    }
}

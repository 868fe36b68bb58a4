import FerryCore
import FerryOpenSSL
import Foundation
import Testing

@testable import FerryAppStore

@Suite struct ServerTokenTests {
    private struct Header: Decodable, Equatable { var alg, kid, typ: String }
    private struct Claims: Decodable, Equatable {
        var iss, aud, bid: String
        var iat, exp: Int64
    }

    @Test func `a token has the header, the claims and the signature that Apple documents`() throws {
        let key = try ES256Key.generate()
        var token = ServerToken(key: key, keyID: "ABC123DEFG", issuerID: "57246542-96fe", bundleID: "com.example.app")
        let parts = try token.text(at: 1_790_000_000).split(separator: ".")
        try #require(parts.count == 3)
        let bytes = try parts.map { try #require(Base64URL.decode($0.utf8)) }
        let header = try JSONDecoder().decode(Header.self, from: Data(bytes[0]))
        #expect(header == Header(alg: "ES256", kid: "ABC123DEFG", typ: "JWT"))
        let claims = try JSONDecoder().decode(Claims.self, from: Data(bytes[1]))
        let wanted = Claims(
            iss: "57246542-96fe",
            aud: "appstoreconnect-v1",
            bid: "com.example.app",
            iat: 1_790_000_000,
            exp: 1_790_000_000 + 1800
        )
        #expect(claims == wanted)
        #expect(claims.exp - claims.iat <= 3600)
        #expect(key.isValidSignature(bytes[2], for: Array("\(parts[0]).\(parts[1])".utf8)))
    }

    @Test func `a token is used until shortly before its end, and is replaced after the clock was set back`() throws {
        let key = try ES256Key.generate()
        var token = ServerToken(key: key, keyID: "K", issuerID: "I", bundleID: "B")
        let first = try token.text(at: 10_000)
        #expect(try token.text(at: 10_000 + 1500) == first)
        let second = try token.text(at: 10_000 + 1501)
        #expect(second != first)
        #expect(try token.text(at: 11_500) != second)
    }
}

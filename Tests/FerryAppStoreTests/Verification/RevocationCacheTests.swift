import FerryOpenSSL
import Foundation
import Testing

@testable import FerryAppStore

@Suite struct RevocationCacheTests {
    private func question(_ number: Int) throws -> OCSPQuestion {
        var shape = ThrowAwaySigningChain.Shape()
        shape.ocsp = "http://host/\(number)"
        let certificates = try ThrowAwaySigningChain(shape: shape)
        let verifier = try SigningChainVerifier(
            roots: certificates.rootPEM,
            isStrict: true,
            requirement: SignatureVerifier.requirement
        )
        let (leaf, intermediate) = (certificates.certificates[0], certificates.certificates[1])
        let chain = try verifier.verify(leaf: leaf, intermediate: intermediate, at: Int(Date.now.timeIntervalSince1970))
        return try #require(chain.ocspQuestion(.leaf))
    }

    @Test
    func `answers are kept for 15 minutes or for their own time if it is shorter, and failures for seconds`() throws {
        let question = try self.question(0)
        #expect(question.address == "http://host/0")
        var cache = RevocationCache()
        #expect(cache.verdict(question, at: 1000) == nil)
        for (verdict, life) in [
            (OCSPVerdict.good(until: nil), 900), (.good(until: 5000), 900), (.good(until: 1100), 100), (.revoked, 900),
            (.unusable("x"), 10),
        ] {
            cache.keep(verdict, for: question, at: 1000)
            #expect(cache.verdict(question, at: 1000) == verdict)
            #expect(cache.verdict(question, at: 999 + life) == verdict)
            #expect(cache.verdict(question, at: 1000 + life) == nil)
            #expect(cache.verdict(question, at: 999) == nil)
        }
    }
}

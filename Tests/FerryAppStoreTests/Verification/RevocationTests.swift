import FerryAppStoreTesting
import FerryHTTP1TestSupport
import FerryOpenSSL
import Foundation
import NIOHTTP1
import Testing

@testable import FerryAppStore

@Suite(.serialized, .timeLimit(.minutes(10))) struct RevocationTests {
    /// A chain, and a responder for each of its authorities.
    private struct World {
        let chain: ThrowAwaySigningChain
        let signing: Signing
        let verifier: AppStoreVerifier
        private let ports: (leaf: Int, intermediate: Int)

        init() async throws {
            var shape = ThrowAwaySigningChain.Shape()
            self.ports = (try await OCSPResponder.freePort(), try await OCSPResponder.freePort())
            shape.ocsp = "http://127.0.0.1:\(self.ports.leaf)/leaf"
            shape.intermediateOCSP = "http://127.0.0.1:\(self.ports.intermediate)/intermediate"
            self.chain = try ThrowAwaySigningChain(shape: shape)
            self.signing = Signing(signer: AppStoreSigner(self.chain))
            var configuration = self.signing.configuration
            configuration.checksRevocation = true
            self.verifier = try AppStoreVerifier(configuration)
        }

        func leafResponder(
            _ status: OCSPResponder.Status = .valid,
            signer: OCSPResponder.Signer = .issuer,
            minutes: Int? = 5
        ) async throws -> OCSPResponder {
            try await .start(
                port: self.ports.leaf,
                authority: self.chain.pem(.intermediate),
                certificate: self.chain.certificates[0],
                status: status,
                signer: signer,
                minutes: minutes
            )
        }

        func intermediateResponder(_ status: OCSPResponder.Status = .valid) async throws -> OCSPResponder {
            try await .start(
                port: self.ports.intermediate,
                authority: self.chain.pem(.root),
                certificate: self.chain.certificates[1],
                status: status
            )
        }

        func error() async throws -> AppStoreVerificationError? {
            let post = Signing.post(try self.signing.renewal())
            do throws(AppStoreVerificationError) {
                _ = try await self.verifier.verifyOnline(post: post)
                return nil
            } catch {
                return error
            }
        }
    }

    @Test func `certificates that are not revoked count, and the answers are kept`() async throws {
        let world = try await World()
        let responders = [try await world.leafResponder(), try await world.intermediateResponder()]
        #expect(try await world.error()?.description == nil)
        for responder in responders { responder.stop() }
        #expect(try await world.error()?.description == nil)
    }

    @Test func `an answer without an end of its validity counts while it is new`() async throws {
        let world = try await World()
        let responders = [try await world.leafResponder(minutes: nil), try await world.intermediateResponder()]
        #expect(try await world.error()?.description == nil)
        for responder in responders { responder.stop() }
    }

    @Test func `a revoked certificate makes a notification forged, whichever certificate it is`() async throws {
        for (leaf, intermediate) in [(OCSPResponder.Status.revoked, OCSPResponder.Status.valid), (.valid, .revoked)] {
            let world = try await World()
            let responders = [try await world.leafResponder(leaf), try await world.intermediateResponder(intermediate)]
            let error = try await world.error()
            #expect(error?.code == .forged)
            #expect(error?.description.hasSuffix("was revoked.") == true)
            for responder in responders { responder.stop() }
        }
    }

    @Test func `without an answer the state is unknown, and the responder is left alone for a while`() async throws {
        let world = try await World()
        let responder = try await world.intermediateResponder()
        #expect(try await world.error()?.code == .tryAgain)
        let late = try await world.leafResponder()
        #expect(try await world.error()?.code == .tryAgain)
        for responder in [responder, late] { responder.stop() }
    }

    @Test func `a responder that does not know the certificate settles nothing`() async throws {
        let world = try await World()
        let responders = [try await world.leafResponder(.unknown), try await world.intermediateResponder()]
        let error = try await world.error()
        #expect(error?.code == .tryAgain)
        #expect(error?.description.contains("does not know") == true)
        for responder in responders { responder.stop() }
    }

    @Test(
        arguments: [
            (OCSPResponder.Signer.delegate, nil), (.wrongDelegate, AppStoreVerificationError.Code.tryAgain),
            (.stranger, .tryAgain),
        ]
    )
    func `only the issuer, or its delegate with OCSPSigning, may answer`(
        _ signer: OCSPResponder.Signer,
        _ code: AppStoreVerificationError.Code?
    ) async throws {
        let world = try await World()
        let responders = [try await world.leafResponder(signer: signer), try await world.intermediateResponder()]
        #expect(try await world.error()?.code == code)
        for responder in responders { responder.stop() }
    }

    @Test func `an answer that is not OCSP settles nothing`() async throws {
        for reply in [
            TestHTTPServer.Reply.answer(200, Array("no".utf8)), .answer(404), .answer(302, headers: ["Location": "/"]),
        ] {
            let server = try await TestHTTPServer.start { _ in reply }
            var shape = ThrowAwaySigningChain.Shape()
            shape.ocsp = "http://127.0.0.1:\(server.port)/"
            let signing = try Signing(shape)
            var configuration = signing.configuration
            configuration.checksRevocation = true
            let verifier = try AppStoreVerifier(configuration)
            let post = Signing.post(try signing.renewal())
            await #expect {
                try await verifier.verifyOnline(post: post)
            } throws: { error in
                (error as? AppStoreVerificationError)?.code == .tryAgain
            }
            // Three signed texts in one post, and two certificates: each is asked about once, and the first answer settles.
            #expect(1...2 ~= server.requests.count)
            #expect(server.requests.allSatisfy { $0.header("Content-Type") == "application/ocsp-request" })
            await server.stop()
        }
    }

    @Test func `a chain without a responder's address does not count, nor does one that has expired`() async throws {
        var expired = ThrowAwaySigningChain.Shape()
        expired.leafValidity = -30 * 86_400 ... -10 * 86_400
        expired.ocsp = "http://127.0.0.1:1/"
        for (shape, date) in [(ThrowAwaySigningChain.Shape(), Date.now), (expired, Date.now - 20 * 86_400)] {
            let signing = try Signing(shape)
            var configuration = signing.configuration
            configuration.checksRevocation = true
            let verifier = try AppStoreVerifier(configuration)
            let text = try signing.renewal(date: date)
            #expect(throws: Never.self) { try verifier.verify(signedPayload: text) }
            await #expect {
                try await verifier.verifyOnline(signedPayload: text)
            } throws: { error in
                (error as? AppStoreVerificationError)?.code == .forged
            }
        }
    }

    @Test func `without the option no responder is asked`() async throws {
        let signing = try Signing()
        let text = try signing.renewal(uuid: "U")
        #expect(try await signing.verifier().verifyOnline(signedPayload: text).uuid == "U")
    }
}

import FerryAppStoreTesting
import FerrySQLite
import Foundation
import NIOHTTP1
import Testing

@testable import FerryAppStore
@testable import FerryHTTP1

/// Ever-new forged certificates, each with a signature of its own key, as anybody can make them.
@Suite struct FreshReceiverTests {
    /// One flood for all tests: to make it costs half a second.
    private static let flood = Result {
        try (0..<FailureRate.perSecond).map { _ in
            try Signing().signer.sign(Array(#"{"signedDate":1790000000000}"#.utf8))
        }
    }

    private let signing: Signing

    init() throws { self.signing = try Signing() }

    /// A verifier for which no time passes, so that the flood does not end.
    private func verifier() throws -> AppStoreVerifier {
        let now = ContinuousClock.now
        return try AppStoreVerifier(self.signing.configuration) { now }
    }

    private func code(_ verifier: AppStoreVerifier, _ text: String) -> AppStoreVerificationError.Code? {
        do throws(AppStoreVerificationError) {
            _ = try verifier.verify(post: Signing.post(text))
            return nil
        } catch {
            return error.code
        }
    }

    private func flood(_ verifier: AppStoreVerifier) throws {
        for text in try Self.flood.get() {
            // The address is checked after the form, so the signed text alone gets as far as its certificates.
            do throws(AppStoreVerificationError) {
                _ = try verifier.verify(signedPayload: text)
            } catch {
                #expect(error.code == .forged)
            }
        }
    }

    @Test
    func `a flood keeps unknown certificates out, but not those that were learnt before or during it`() async throws {
        let genuine = try self.signing.renewal()
        let fresh = try self.verifier()
        try self.flood(fresh)
        #expect(self.code(fresh, genuine) == .tryAgain)
        try fresh.learn(from: Signing.post(genuine))
        #expect(self.code(fresh, genuine) == nil)

        let taught = try self.verifier()
        try taught.learn(from: Array("\(genuine)\n".utf8))
        try self.flood(taught)
        #expect(self.code(taught, genuine) == nil)
        // What is forged stays forged.
        #expect(throws: AppStoreVerificationError.self) { try taught.learn(from: Signing.post(Signing().renewal())) }
        #expect(throws: AppStoreVerificationError.self) { try taught.learn(from: Array("{}".utf8)) }
        #expect(self.code(taught, try Signing().renewal()) == .tryAgain)
    }

    @Test func `texts of the owner or of Apple's server are checked in a flood, and their certificates are then known`()
        async throws
    {
        let genuine = try self.signing.renewal()
        let verifier = try self.verifier()
        try self.flood(verifier)
        _ = try await verifier.verifyInvited(signedPayload: genuine)
        #expect(self.code(verifier, genuine) == nil)
    }

    @Test
    func `a store knows the certificates of its notifications, and teaches them at the next start`() async throws {
        let folder = try TemporaryFolder()
        let genuine = try AppStoreRequest(body: Signing.post(self.signing.renewal()))
        let first = AppStoreStore(path: folder.path("store.db"))
        try await first.open()
        let receiver = AppStoreReceiver(try self.verifier(), handOver: .store(first))
        #expect(await receiver.answer(to: genuine) == 200)
        await first.close()

        let second = AppStoreStore(path: folder.path("store.db"))
        let verifier = try self.verifier()
        let restarted = AppStoreReceiver(verifier, handOver: .store(second))
        try await second.open()
        try self.flood(verifier)
        let next = try AppStoreRequest(body: Signing.post(self.signing.renewal()))
        #expect(await restarted.answer(to: next) == 200)
        await second.close()

        // A store that was opened before.
        let third = AppStoreStore(path: folder.path("store.db"))
        try await third.open()
        let late = try self.verifier()
        let receiving = AppStoreReceiver(late, handOver: .store(third))
        #expect(try await third.list(limit: 10, before: nil, state: nil).count == 2)
        try self.flood(late)
        #expect(await receiving.answer(to: try AppStoreRequest(body: Signing.post(self.signing.renewal()))) == 200)
        await third.close()
    }

    @Test func `a store keeps a few of the newest certificates, each once`() throws {
        let folder = try TemporaryFolder()
        let file = try StoreFile.open(path: folder.path("store.db"), durability: .process, destinations: nil).file
        for number in 0..<40 as Range<UInt8> {
            try file.keep(SigningCertificates(leaf: [number / 2], intermediate: [1]))
        }
        #expect(try file.certificates().map(\.leaf) == (4..<20 as Range<UInt8>).reversed().map { [$0] })
    }

    @Test func `an operator's text teaches the process that has the store`() async throws {
        let folder = try TemporaryFolder()
        let store = AppStoreStore(path: folder.path("store.db"))
        try await store.open()
        let verifier = try self.verifier()
        try self.flood(verifier)
        let desk = StoreDesk(store, verifier: verifier)
        let genuine = try self.signing.renewal()
        let learnt = await desk.answer(.learn(signedPayload: genuine))
        #expect(learnt.map { String(decoding: $0, as: UTF8.self) } == [#"{"result":"learnt"}"#])
        #expect(self.code(verifier, genuine) == nil)
        let refused = await desk.answer(.learn(signedPayload: try Signing().renewal()))
        #expect(refused.first.map { String(decoding: $0, as: UTF8.self) }?.hasPrefix(#"{"error":"#) == true)
        let (method, target, body) = ControlRequest.learn(signedPayload: genuine).route
        let request = HTTPServerRequest(method: method.rawValue, target: target, body: Array(body.utf8))
        let read: String? = if case .learn(let text)? = ControlRequest(request) { text } else { nil }
        #expect(read == genuine)
        await store.close()
    }
}

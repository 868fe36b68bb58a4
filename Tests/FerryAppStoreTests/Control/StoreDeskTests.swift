import Foundation
import Testing

@testable import FerryAppStore

@Suite(.timeLimit(.minutes(10))) final class StoreDeskTests {
    private let folder: TemporaryFolder
    private let signing: Signing

    init() throws {
        self.folder = try TemporaryFolder()
        self.signing = try Signing()
    }

    @Test func `a store takes each text once that its verifier accepts, and refuses the others by kind`() async throws {
        let path = self.folder.path("store.db")
        let store = AppStoreStore(path: path)
        try await store.open()
        var configuration = self.signing.configuration
        configuration.environments = [.production]
        let desk = StoreDesk(store, verifier: try AppStoreVerifier(configuration))
        let server = try await ControlServer.start(store: path, desk)
        let client = ControlClient(store: path)
        let genuine = try self.signing.renewal(uuid: "A")
        #expect(ControlAnswer.taken(try client.ask(.take(signedPayload: genuine))) == .stored)
        #expect(ControlAnswer.taken(try client.ask(.take(signedPayload: genuine))) == .duplicate)
        let refusals: [(String, AppStoreVerificationError.Code)] = [
            (try self.signing.renewal(environment: "Sandbox"), .otherEnvironment),
            (try self.signing.renewal(bundleID: "com.example.other"), .otherApp),
            (try Signing().renewal(), .forged),
            ("words", .malformed),
        ]
        for (text, code) in refusals {
            guard case .refused(let error) = ControlAnswer.taken(try client.ask(.take(signedPayload: text))) else {
                Issue.record("\(code) was not refused")
                continue
            }
            #expect(error.code == code)
        }
        #expect(try await store.list(limit: 10, before: nil, state: nil).count == 1)
        await server.stop()
        await store.close()
    }
}

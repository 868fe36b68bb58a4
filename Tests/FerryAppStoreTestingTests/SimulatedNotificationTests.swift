import FerryAppStore
import FerryAppStoreTesting
import Foundation
import Testing

@Suite struct SimulatedNotificationTests {
    static let app = AppStoreApp(bundleID: "com.example.app", appAppleID: 1_234_567_890)

    static func verifier(_ maker: NotificationMaker) throws -> AppStoreVerifier {
        var configuration = AppStoreVerifier.Configuration(apps: [Self.app])
        configuration.trustRoots = .pem(maker.signer.rootPEM)
        configuration.sharedSecrets = [maker.sharedSecret]
        return try AppStoreVerifier(configuration)
    }

    @Test(arguments: [AppStoreEnvironment.production, .sandbox])
    func `every type and subtype of version 2 is verified`(_ environment: AppStoreEnvironment) throws {
        var maker = try NotificationMaker(app: Self.app, environment: environment)
        let verifier = try Self.verifier(maker)
        #expect(Set(SimulatedNotification.Kind.version2).count == 38)
        for made in try maker.makeAll() {
            let verified = try verifier.verify(post: made.post)
            #expect(verified.type == made.kind.type)
            #expect(verified.subtype == made.kind.subtype)
            #expect(verified.uuid == made.uuid)
            #expect(verified.environment == environment)
            #expect(verified.customer == made.customer)
            #expect(verified.version == .two)
        }
    }

    @Test func `every type of version 1 is verified, in both environments`() throws {
        var maker = try NotificationMaker(app: Self.app)
        let verifier = try Self.verifier(maker)
        for environment in [AppStoreEnvironment.production, .sandbox] {
            maker.environment = environment
            for kind in SimulatedNotification.Kind.version1 {
                let made = maker.makeVersion1(kind)
                let verified = try verifier.verify(post: made.post)
                #expect(verified.type == kind.type)
                #expect(verified.environment == environment)
                #expect(verified.customer == made.customer)
                #expect(verified.version == .one)
            }
        }
    }

    @Test func `posts have about the sizes of Apple's`() throws {
        var maker = try NotificationMaker(app: Self.app)
        #expect(3_800...5_200 ~= (try maker.make(.init(.test)).post.count))
        #expect(16_500...20_000 ~= (try maker.make(.init(.didRenew)).post.count))
        maker.version1Transactions = 100
        #expect(50_000...150_000 ~= maker.makeVersion1(.init(.didRenew)).post.count)
    }

    @Test func `the same seed gives the same posts`() throws {
        let date = Date()
        func payloads(_ seed: UInt64) throws -> [String] {
            var maker = try NotificationMaker(app: Self.app, seed: seed)
            let verifier = try Self.verifier(maker)
            return try maker.makeAll(at: date).map { notification in
                String(decoding: try verifier.verify(post: notification.post).json, as: UTF8.self)
            }
        }
        #expect(try payloads(7) == payloads(7))
        #expect(try payloads(7) != payloads(8))
    }

    @Test func `a notification can be about the customer of another`() throws {
        var maker = try NotificationMaker(app: Self.app)
        let first = try maker.make(.init(.subscribed, "INITIAL_BUY"))
        let second = try maker.make(.init(.didRenew), customer: first.customer)
        #expect(first.customer != nil)
        #expect(second.customer == first.customer)
        #expect(second.uuid != first.uuid)
    }
}

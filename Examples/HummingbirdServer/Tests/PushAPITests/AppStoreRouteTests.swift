import FerryAppStore
import FerryAppStoreTesting
import Foundation
import Hummingbird
import PushAPI
import Testing

@Suite struct AppStoreRouteTests {
    @Test("A genuine notification reaches the handler, and others do not")
    func route() async throws {
        var maker = try NotificationMaker(app: AppStoreApp(bundleID: "com.example.app", appAppleID: 1))
        var configuration = AppStoreVerifier.Configuration(apps: [maker.app])
        configuration.trustRoots = .pem(maker.signer.rootPEM)
        let (notifications, continuation) = AsyncStream.makeStream(of: AppStoreNotification.self)
        let receiver = AppStoreReceiver(
            try AppStoreVerifier(configuration),
            handOver: .handler { continuation.yield($0) },
            answerLimit: .seconds(60)
        )
        let router = Router()
        router.appStore("appstore", receiver)
        let notification = try maker.make(.init(.didRenew))
        try await TestServer.run(Application(router: router)) { server in
            let looked = try await server.send(.get, "appstore")
            #expect(looked.status == .ok)
            let refused = try await server.send(.post, "appstore", Data("garbage".utf8))
            #expect(refused.status == .badRequest)
            let accepted = try await server.send(.post, "appstore", Data(notification.post))
            #expect(accepted.status == .ok)
        }
        continuation.finish()
        let taken = await notifications.reduce(into: [String]()) { $0.append($1.uuid) }
        #expect(taken == [notification.uuid])
    }
}

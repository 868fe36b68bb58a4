import FerryAppStore
import FerryTesting
import Hummingbird
import HummingbirdTesting
import NIOCore
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
        try await Application(router: router).test(.router) { client in
            try await client.execute(uri: "/appstore", method: .get) { #expect($0.status == .ok) }
            let garbage = ByteBuffer(string: "garbage")
            try await client.execute(uri: "/appstore", method: .post, body: garbage) {
                #expect($0.status == .badRequest)
            }
            let post = ByteBuffer(bytes: notification.post)
            try await client.execute(uri: "/appstore", method: .post, body: post) { #expect($0.status == .ok) }
        }
        continuation.finish()
        let taken = await notifications.reduce(into: [String]()) { $0.append($1.uuid) }
        #expect(taken == [notification.uuid])
    }
}

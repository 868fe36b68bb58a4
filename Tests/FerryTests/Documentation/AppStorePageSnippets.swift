import FerryAppStore

// The code of FerryAppStore's pages. `PageSnippetTests` compares the pages with this file, and nothing here runs.

func pageFerryAppStore() throws {
    @Sendable func update(customer: String?, _ notification: AppStoreNotification) async throws {}

    let app = AppStoreApp(bundleID: "com.example.app", appAppleID: 1_234_567_890)
    let verifier = try AppStoreVerifier(.init(apps: [app]))
    let store = AppStoreStore(
        path: "notifications.db",
        destinations: [
            .handler("application") { delivery in
                // Once for each notification, and again after a crash: the UUID is the key.
                try await update(customer: delivery.notification.customer, delivery.notification)
            }
        ]
    )
    let receiver = AppStoreReceiver(verifier, handOver: .store(store))
    _ = receiver
}

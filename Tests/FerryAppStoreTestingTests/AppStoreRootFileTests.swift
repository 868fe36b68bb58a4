import FerryAppStore
import FerryAppStoreTesting
import FerryOpenSSL
import Foundation
import Testing

@Suite(.timeLimit(.minutes(10))) struct AppStoreRootFileTests {
    /// Creates a directory that exists during the call of the body.
    private func withTemporaryDirectory(_ body: (String) throws -> Void) throws {
        let path = FileManager.default.temporaryDirectory.appending(path: "ferry-\(UUID().uuidString)").path()
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: path) }
        try body(path)
    }

    @Test func `a directory keeps the root of the App Store's signatures, so that receivers still trust it`() throws {
        try withTemporaryDirectory { directory in
            let (app, verifies) = (
                SimulatedNotificationTests.app,
                { (root: TLSIdentity, made: SimulatedNotification) throws -> Bool in
                    var configuration = AppStoreVerifier.Configuration(apps: [SimulatedNotificationTests.app])
                    configuration.trustRoots = .pem(root.certificateChainPEM)
                    return (try? AppStoreVerifier(configuration).verify(post: made.post)) != nil
                }
            )
            let first = try AppStoreRootFile.open(directory)
            var later = try NotificationMaker(
                app: app,
                signer: AppStoreSigner(root: AppStoreRootFile.open(directory))
            )
            #expect(try verifies(first, later.make(.init(.test))))
            try FileManager.default.removeItem(atPath: AppStoreRootFile.key.path(in: directory))
            let other = try AppStoreRootFile.open(directory)
            #expect(try !verifies(other, later.make(.init(.test))))
            #expect(other.summary != first.summary)
        }
    }

    @Test func `only the owner can read the key of the root`() throws {
        try withTemporaryDirectory { directory in
            _ = try AppStoreRootFile.open(directory)
            let path = AppStoreRootFile.key.path(in: directory)
            let attributes = try FileManager.default.attributesOfItem(atPath: path)
            #expect(attributes[.posixPermissions] as? Int == 0o600)
        }
    }
}

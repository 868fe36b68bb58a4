import FerryAppStore
import FerryAppStoreTesting
import FerryOpenSSL
import Foundation

/// Makes signed notifications and verifiers that trust them.
struct Signing {
    static let bundleID = "com.example.app"
    static let appAppleID: Int64 = 1_234_567_890

    let signer: AppStoreSigner

    init(_ shape: ThrowAwaySigningChain.Shape = .init()) throws {
        self.signer = AppStoreSigner(try ThrowAwaySigningChain(shape: shape))
    }

    init(signer: AppStoreSigner) { self.signer = signer }

    var configuration: AppStoreVerifier.Configuration {
        var configuration = AppStoreVerifier.Configuration(
            apps: [AppStoreApp(bundleID: Self.bundleID, appAppleID: Self.appAppleID)]
        )
        configuration.trustRoots = .pem(self.signer.rootPEM)
        return configuration
    }

    func verifier() throws -> AppStoreVerifier { try AppStoreVerifier(self.configuration) }

    /// A notification about a subscription, with both signed texts inside.
    func renewal(
        uuid: String = UUID().uuidString,
        date: Date = .now,
        transaction: String = "2000000000000001",
        bundleID: String = Self.bundleID,
        environment: String = "Production"
    ) throws -> String {
        let milliseconds = Int64(date.timeIntervalSince1970 * 1000)
        let info = try self.signer.sign(
            Array(
                """
                {"originalTransactionId":"\(transaction)","bundleId":"\(bundleID)","environment":"\(environment)",\
                "price":9990,"signedDate":\(milliseconds)}
                """.utf8
            )
        )
        let renewal = try self.signer.sign(
            Array(
                """
                {"originalTransactionId":"\(transaction)","environment":"\(environment)","signedDate":\(milliseconds)}
                """.utf8
            )
        )
        return try self.signer.sign(
            Array(
                """
                {"notificationType":"DID_RENEW","subtype":"BILLING_RECOVERY","notificationUUID":"\(uuid)","version":"2.0",\
                "signedDate":\(milliseconds),"data":{"appAppleId":\(Self.appAppleID),"bundleId":"\(bundleID)",\
                "environment":"\(environment)","status":1,"signedTransactionInfo":"\(info)",\
                "signedRenewalInfo":"\(renewal)"}}
                """.utf8
            )
        )
    }

    static func post(_ signedPayload: String) -> [UInt8] { Array("{\"signedPayload\":\"\(signedPayload)\"}".utf8) }
}

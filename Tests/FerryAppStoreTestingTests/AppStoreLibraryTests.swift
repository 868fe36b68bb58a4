import FerryAppStore
import FerryAppStoreTesting
import FerryOpenSSL
import Foundation
import Testing

/// The cross-check with Apple's own library for Python: this test writes texts with Ferry's verdicts to the file that
/// `FERRY_APP_STORE_CASES` names, and `Tests/Interop/app_store_library.py` compares.
@Suite struct AppStoreLibraryTests {
    private static let path = ProcessInfo.processInfo.environment["FERRY_APP_STORE_CASES"]

    @Test func `Ferry accepts every genuine post, and a changed one only if it has the same meaning`() throws {
        let chain = try ThrowAwaySigningChain()
        let maker = try NotificationMaker(app: SimulatedNotificationTests.app, signer: AppStoreSigner(chain))
        let mutated = try MutatedPayloads(chain, maker)
        var configuration = AppStoreVerifier.Configuration(apps: [SimulatedNotificationTests.app])
        let roots = Array(([chain.rootPEM] + mutated.roots).joined(separator: [0x0a]))
        configuration.trustRoots = .pem(roots)
        let verifier = try AppStoreVerifier(configuration)
        var lines: [[String: Any]] = [["roots": String(decoding: roots, as: UTF8.self)]]
        func judge(_ name: String, _ text: String, _ environment: AppStoreEnvironment) -> Bool {
            var line: [String: Any] = ["name": name, "signedPayload": text, "environment": environment.rawValue]
            do {
                _ = try verifier.verify(signedPayload: text)
                line["ferry"] = "accepted"
            } catch {
                line["ferry"] = "\(error.code)"
                line["sentence"] = error.description
            }
            lines.append(line)
            return line["ferry"] as? String == "accepted"
        }
        for environment in [AppStoreEnvironment.production, .sandbox] {
            var maker = maker
            maker.environment = environment
            for notification in try maker.makeAll() {
                #expect(judge("genuine: \(notification.kind)", notification.signedPayload ?? "", environment))
            }
        }
        #expect(mutated.cases.count >= 1000)
        let accepted = Set(
            mutated.cases.filter { judge($0.name, $0.text, .production) }.map { $0.name.prefix { $0 != ":" } }
        )
        let harmless: Set<Substring> = [
            "harmless header", "third certificate", "foreign root", "third bit", "third cut", "bytes after third",
            "shape",
            "signedDate", "claim", "receiptCreationDate instead", "member missing", "member of another type",
            "data member missing", "data member of another type", "other environment", "new status", "new member",
            "new type",
            "new subtype",
        ]
        #expect(accepted.subtracting(harmless) == [])
        if let path = Self.path {
            let text = try lines.map { line in
                String(decoding: try JSONSerialization.data(withJSONObject: line, options: .sortedKeys), as: UTF8.self)
            }
            try Data((text.joined(separator: "\n") + "\n").utf8).write(to: URL(filePath: path))
        }
    }
}

package import FerryOpenSSL
internal import FerryPlatform
internal import FerryTesting

/// The files of the root of a simulated App Store's signatures, in the directory of `TLSDirectory`. They are made if one of
/// them is missing.
package enum AppStoreRootFile: String, Sendable {
    case certificate = "app-store-root.pem"
    case key = "app-store-root-key.pem"

    package func path(in directory: String) -> String { "\(directory)/\(self.rawValue)" }

    /// Reads the root. Creates it if one of its files does not exist.
    ///
    /// - Throws: `TLSError`, or a file error.
    package static func open(_ directory: String) throws -> TLSIdentity {
        let (certificate, key) = (Self.certificate.path(in: directory), Self.key.path(in: directory))
        if FileManager.default.fileExists(atPath: certificate), FileManager.default.fileExists(atPath: key) {
            return try TLSIdentity(certificatePath: certificate, privateKeyPath: key)
        }
        let root = try AppStoreSigner.root()
        try TLSDirectory.write(root.certificateChainPEM, to: certificate)
        try TLSDirectory.write(root.privateKeyPEM(), to: key, isSecret: true)
        return root
    }
}

internal import FerryCore
internal import FerryOpenSSL
internal import FerryPlatform

/// The files of ``TestCredentials/init(directory:)``. The key of provider tokens is made alone if only it is missing.
///
/// The keys of certificates are RSA, because old clients support only RSA.
package enum TLSDirectory {
    /// The files of the directory.
    package enum File: String, CaseIterable, Sendable {
        case ca = "ca.pem"
        case server = "server.pem"
        case serverKey = "server-key.pem"
        case client = "client.pem"
        case clientKey = "client-key.pem"
        case clientArchive = "client.p12"
        case clientPassphrase = "client-passphrase.txt"
        case tokenKey = "token-key.p8"

        /// The files that belong together: those of the certificates of TLS.
        static var ofCertificates: [File] { self.allCases.filter { $0 != .tokenKey } }

        package func path(in directory: String) -> String { "\(directory)/\(self.rawValue)" }
    }

    /// The passphrase of `client.p12`.
    package static let passphrase = "ferry"

    /// Reads the credentials of a directory. Creates the directory and the credentials if there are no files.
    ///
    /// - Throws: ``IncompleteError`` when some of the files are missing, `TLSError`, or a file error.
    package static func open(_ directory: String) throws -> TestCredentials {
        let missing = File.ofCertificates.filter { !FileManager.default.fileExists(atPath: $0.path(in: directory)) }
        if missing == File.ofCertificates {
            try self.make(directory)
        } else if !missing.isEmpty {
            throw IncompleteError(directory: directory, missing: missing)
        }
        return TestCredentials(
            trustRoots: .file(File.ca.path(in: directory)),
            server: try TLSIdentity(
                certificatePath: File.server.path(in: directory),
                privateKeyPath: File.serverKey.path(in: directory)
            ),
            client: try TLSIdentity(
                certificatePath: File.client.path(in: directory),
                privateKeyPath: File.clientKey.path(in: directory)
            ),
            tokenKey: try self.tokenKey(directory)
        )
    }

    /// Reads the key of provider tokens. Creates it if the file does not exist.
    private static func tokenKey(_ directory: String) throws -> ES256Key {
        let path = File.tokenKey.path(in: directory)
        if FileManager.default.fileExists(atPath: path) { return try ES256Key(path: path) }
        let key = try ES256Key.generate()
        try self.write(key.p8(), to: path, isSecret: true)
        return key
    }

    private static func make(_ directory: String) throws {
        let authority = try ThrowAwayCA(key: .rsa2048, isStrict: true)
        let credentials = try TestCredentials(authority: authority, topic: "com.example.ferry", key: .rsa2048)
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        func write(_ bytes: [UInt8], to file: File, isSecret: Bool = false) throws {
            try self.write(bytes, to: file.path(in: directory), isSecret: isSecret)
        }
        try write(authority.certificatePEM, to: .ca)
        try write(credentials.server.certificateChainPEM, to: .server)
        try write(credentials.server.privateKeyPEM(), to: .serverKey, isSecret: true)
        try write(credentials.client.certificateChainPEM, to: .client)
        try write(credentials.client.privateKeyPEM(), to: .clientKey, isSecret: true)
        try write(credentials.client.pkcs12(passphrase: self.passphrase), to: .clientArchive, isSecret: true)
        try write(Array("\(self.passphrase)\n".utf8), to: .clientPassphrase, isSecret: true)
    }

    /// Writes a new file, which others may read unless it holds a secret.
    package static func write(_ bytes: [UInt8], to path: String, isSecret: Bool = false) throws {
        guard
            FileManager.default.createFile(
                atPath: path,
                contents: Data(bytes),
                attributes: [.posixPermissions: isSecret ? 0o600 : 0o644]
            )
        else { throw CocoaError(.fileWriteUnknown, userInfo: [:]) }
    }

    /// The error of a directory in which some files are missing. New files would not match the old ones, so the
    /// directory stays as it is.
    package struct IncompleteError: Error, CustomStringConvertible {
        package var directory: String
        package var missing: [File]

        package var description: String {
            let names = self.missing.map(\.rawValue).joined(separator: ", ")
            let directory = FileName(self.directory).shown ?? "The directory"
            return "\(directory) lacks \(names); restore them, or remove the others to have all made anew."
        }
    }
}

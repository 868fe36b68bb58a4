internal import FerryOpenSSL

#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif

/// A directory of credentials for tests, for programs that read theirs from files.
///
/// | file | what |
/// |---|---|
/// | `ca.pem` | the authority's certificate |
/// | `server.pem`, `server-key.pem` | the server |
/// | `client.pem`, `client-key.pem` | the client |
/// | `client.p12`, `client-passphrase.txt` | the client once more, as PKCS#12 |
///
/// The keys are RSA, because old clients know nothing else.
package enum TLSDirectory {
    /// One of the files.
    package enum File: String, CaseIterable, Sendable {
        case ca = "ca.pem"
        case server = "server.pem"
        case serverKey = "server-key.pem"
        case client = "client.pem"
        case clientKey = "client-key.pem"
        case clientArchive = "client.p12"
        case clientPassphrase = "client-passphrase.txt"

        package func path(in directory: String) -> String { "\(directory)/\(self.rawValue)" }
    }

    /// The passphrase of `client.p12`.
    package static let passphrase = "ferry"

    /// Reads the credentials of a directory; makes them, and the directory, when there are none.
    ///
    /// - Throws: ``IncompleteError`` when some of the files are missing, `TLSError`, or a file error.
    package static func open(_ directory: String) throws -> TestCredentials {
        let missing = File.allCases.filter { !FileManager.default.fileExists(atPath: $0.path(in: directory)) }
        if missing.count == File.allCases.count { return try self.make(directory) }
        guard missing.isEmpty else { throw IncompleteError(directory: directory, missing: missing) }
        return TestCredentials(
            trustRoots: .file(File.ca.path(in: directory)),
            server: try TLSIdentity(
                certificatePath: File.server.path(in: directory),
                privateKeyPath: File.serverKey.path(in: directory)
            ),
            client: try TLSIdentity(
                certificatePath: File.client.path(in: directory),
                privateKeyPath: File.clientKey.path(in: directory)
            )
        )
    }

    private static func make(_ directory: String) throws -> TestCredentials {
        let authority = try ThrowAwayCA(key: .rsa2048)
        let credentials = try TestCredentials(authority: authority, topic: "com.example.ferry", key: .rsa2048)
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        func write(_ bytes: [UInt8], to file: File, isSecret: Bool = false) throws {
            let path = file.path(in: directory)
            guard
                FileManager.default.createFile(
                    atPath: path,
                    contents: Data(bytes),
                    attributes: [.posixPermissions: isSecret ? 0o600 : 0o644]
                )
            else { throw CocoaError(.fileWriteUnknown, userInfo: [:]) }
        }
        try write(authority.certificatePEM, to: .ca)
        try write(credentials.server.certificateChainPEM, to: .server)
        try write(credentials.server.privateKeyPEM(), to: .serverKey, isSecret: true)
        try write(credentials.client.certificateChainPEM, to: .client)
        try write(credentials.client.privateKeyPEM(), to: .clientKey, isSecret: true)
        try write(credentials.client.pkcs12(passphrase: self.passphrase), to: .clientArchive, isSecret: true)
        try write(Array("\(self.passphrase)\n".utf8), to: .clientPassphrase, isSecret: true)
        return credentials
    }

    /// Some files of a directory are there and some are not; made anew, these would not fit to those.
    package struct IncompleteError: Error, CustomStringConvertible {
        package var directory: String
        package var missing: [File]

        package var description: String {
            let names = self.missing.map(\.rawValue).joined(separator: ", ")
            return "\(self.directory) lacks \(names); restore them, or remove the others to have all made anew."
        }
    }
}

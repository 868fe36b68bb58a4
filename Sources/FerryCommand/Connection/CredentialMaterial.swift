internal import FerryCore
internal import FerryOpenSSL

/// A certificate, key or archive from options: the name of a file, or the content itself.
enum CredentialMaterial: Equatable, Sendable {
    /// A path, relative to the working directory.
    case file(String)
    case bytes([UInt8])

    /// - Parameter option: see ``OptionFile``.
    /// - Throws: `TLSError` with `fileNotFound` or `fileUnreadable`.
    func read(_ option: String) throws(TLSError) -> [UInt8] {
        switch self {
        case .file(let path): try OptionFile(option, path).bytes()
        case .bytes(let bytes): bytes
        }
    }

    /// Reads it. Warns on standard error if it is a file with a private key that other users may read.
    func readAndWarn(_ option: String) throws(TLSError) -> [UInt8] {
        let bytes = try self.read(option)
        if case .file(let path) = self { OptionFile(option, path).warnIfOpen(bytes) }
        return bytes
    }

    /// The name in messages.
    func name(_ option: String) -> String {
        switch self {
        case .file(let path): OptionFile(option, path).name
        case .bytes: "the text of \(option)"
        }
    }
}

/// The place of the certificate and key that prove the provider's identity.
struct IdentitySource: Equatable, Sendable {
    /// The place of the options. Messages name it.
    enum Origin: Equatable, Sendable {
        case commandLine
        /// A node-apn options object.
        case configuration
    }

    enum Files: Equatable, Sendable {
        /// Without a key, the key is in the certificate's file.
        case pair(certificate: CredentialMaterial, key: CredentialMaterial?)
        /// A PKCS#12 archive.
        case archive(CredentialMaterial)
    }

    var origin = Origin.commandLine
    var files: Files
    var passphrase: String?

    var certificateOption: String { self.origin == .commandLine ? "--cert" : "'cert'" }
    var keyOption: String { self.origin == .commandLine ? "--key" : "'key'" }
    var archiveOption: String { self.origin == .commandLine ? "--p12" : "'pfx'" }

    /// Reads the files. Warns on standard error about files with a private key that other users may read.
    func identity() throws(TLSError) -> TLSIdentity {
        switch self.files {
        case .archive(let archive):
            let option = self.archiveOption
            let bytes = try archive.readAndWarn(option)
            try self.requireArchive(bytes, archive.name(option))
            return try TLSIdentity(pkcs12: bytes, passphrase: self.passphrase ?? "", source: archive.name(option))
        case .pair(let certificate, let key):
            let option = self.certificateOption
            let chain = try certificate.readAndWarn(option)
            try self.requireCertificate(chain, certificate.name(option))
            return try TLSIdentity(
                chain: chain,
                from: certificate.name(option),
                key: key?.readAndWarn(self.keyOption) ?? chain,
                from: key?.name(self.keyOption) ?? certificate.name(option),
                passphrase: self.passphrase
            )
        }
    }

    private static let providerTokenKey =
        "a .p8 file of Apple is the key of provider tokens: over HTTP/2 give it with --p8, --key-id and --team-id"

    /// Checks that the bytes are no other kind of credentials.
    private func requireArchive(_ bytes: [UInt8], _ name: String) throws(TLSError) {
        switch CredentialForm(bytes) {
        case .certificate, .certificateAndKey:
            let options = "\(self.certificateOption), and its key with \(self.keyOption)"
            let fault = "\(name) holds a certificate and is no PKCS#12 archive"
            throw TLSError(.malformed, "\(fault): give it with \(options).")
        case .privateKey:
            let fault = "\(name) holds a private key and is no PKCS#12 archive"
            throw TLSError(.malformed, "\(fault); \(Self.providerTokenKey).")
        default: break
        }
    }

    /// Checks that the bytes are no other kind of credentials.
    private func requireCertificate(_ bytes: [UInt8], _ name: String) throws(TLSError) {
        switch CredentialForm(bytes) {
        case .pkcs12:
            throw TLSError(.noCertificate, "\(name) is a PKCS#12 archive: give it with \(self.archiveOption).")
        case .privateKey:
            throw TLSError(.noCertificate, "\(name) holds a private key and no certificate; \(Self.providerTokenKey).")
        default: break
        }
    }
}

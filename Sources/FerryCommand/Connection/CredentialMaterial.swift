internal import FerryCore
internal import FerryOpenSSL

/// A certificate, key or archive as options give it: the name of a file, or what would stand in one.
enum CredentialMaterial: Equatable, Sendable {
    /// Relative to the working directory.
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

    /// As ``read(_:)``, with a warning on standard error if a private key is in it that others may read.
    func readAndWarn(_ option: String) throws(TLSError) -> [UInt8] {
        let bytes = try self.read(option)
        if case .file(let path) = self { OptionFile(option, path).warnIfOpen(bytes) }
        return bytes
    }

    /// What messages call it.
    func name(_ option: String) -> String {
        switch self {
        case .file(let path): OptionFile(option, path).name
        case .bytes: "the text of \(option)"
        }
    }
}

/// Where certificate and key come from that say who the provider is.
struct IdentitySource: Equatable, Sendable {
    /// Where the options stand, which messages name.
    enum Origin: Equatable, Sendable {
        case commandLine
        /// A node-apn options object.
        case configuration
    }

    enum Files: Equatable, Sendable {
        /// Without a key, that stands with the certificate.
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

    /// Reads the files, and warns on standard error of those that hold a private key and that others may read.
    func identity() throws(TLSError) -> TLSIdentity {
        switch self.files {
        case .archive(let archive):
            let option = self.archiveOption
            let bytes = try archive.readAndWarn(option)
            return try TLSIdentity(pkcs12: bytes, passphrase: self.passphrase ?? "", source: archive.name(option))
        case .pair(let certificate, let key):
            let option = self.certificateOption
            let chain = try certificate.readAndWarn(option)
            return try TLSIdentity(
                chain: chain,
                from: certificate.name(option),
                key: key?.readAndWarn(self.keyOption) ?? chain,
                from: key?.name(self.keyOption) ?? certificate.name(option),
                passphrase: self.passphrase
            )
        }
    }
}

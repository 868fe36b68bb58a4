internal import FerryCore
package import FerryOpenSSL

/// A certificate, key or archive from options: the name of a file, or the content itself.
package enum CredentialMaterial: Equatable, Sendable {
    /// A path, relative to the working directory.
    case file(String)
    case bytes([UInt8])

    /// - Parameter option: see ``OptionFile``.
    /// - Throws: `TLSError` with `fileNotFound` or `fileUnreadable`.
    package func read(_ option: String) throws(TLSError) -> [UInt8] {
        switch self {
        case .file(let path): try OptionFile(option, path).bytes()
        case .bytes(let bytes): bytes
        }
    }

    /// Reads the material. Warns on standard error if the material is a file with a private key that other users may
    /// read or change.
    package func readAndWarn(_ option: String) throws(TLSError) -> [UInt8] {
        let bytes = try self.read(option)
        if case .file(let path) = self { OptionFile(option, path).warnIfOpen(bytes) }
        return bytes
    }

    /// The name of the material in messages.
    package func name(_ option: String) -> String {
        switch self {
        case .file(let path): OptionFile(option, path).name
        case .bytes: "the text of \(option)"
        }
    }
}

/// The files or texts of the certificate and key that prove the provider's identity.
package struct IdentitySource: Equatable, Sendable {
    /// The source of the options. Messages name an option in the form of this source: `--cert` or `'cert'`.
    package enum Origin: Equatable, Sendable {
        case commandLine
        /// A node-apn options object.
        case configuration
    }

    package enum Files: Equatable, Sendable {
        /// Without a key, the key is in the certificate's file.
        case pair(certificate: CredentialMaterial, key: CredentialMaterial?)
        /// A PKCS#12 archive.
        case archive(CredentialMaterial)
    }

    package var origin: Origin
    package var files: Files
    package var passphrase: String?

    package init(origin: Origin = .commandLine, files: Files, passphrase: String? = nil) {
        self.origin = origin
        self.files = files
        self.passphrase = passphrase
    }

    package var certificateOption: String { self.origin == .commandLine ? "--cert" : "'cert'" }
    package var keyOption: String { self.origin == .commandLine ? "--key" : "'key'" }
    package var archiveOption: String { self.origin == .commandLine ? "--p12" : "'pfx'" }

    /// Reads the files. Warns on standard error about files with a private key that other users may read or change.
    package func identity() throws(TLSError) -> TLSIdentity {
        switch self.files {
        case .archive(let archive):
            let option = self.archiveOption
            let bytes = try archive.readAndWarn(option)
            return try self.naming { () throws(TLSError) in
                try TLSIdentity(pkcs12: bytes, passphrase: self.passphrase ?? "", source: archive.name(option))
            }
        case .pair(let certificate, let key):
            let option = self.certificateOption
            let chain = try certificate.readAndWarn(option)
            let keyBytes = try key?.readAndWarn(self.keyOption) ?? chain
            return try self.naming { () throws(TLSError) in
                try TLSIdentity(
                    chain: chain,
                    from: certificate.name(option),
                    key: keyBytes,
                    from: key?.name(self.keyOption) ?? certificate.name(option),
                    passphrase: self.passphrase
                )
            }
        }
    }

    /// Reads an identity. If credentials of another kind were given, the error names the options for them.
    private func naming(_ read: () throws(TLSError) -> TLSIdentity) throws(TLSError) -> TLSIdentity {
        do {
            return try read()
        } catch {
            guard let remedy = error.wrongCredentials?.remedy else { throw error }
            throw TLSError(error.code, error.description.replacing(remedy.words, with: self.words(remedy)))
        }
    }

    private func words(_ remedy: WrongCredentials.Remedy) -> String {
        switch remedy {
        case .readAsArchive: "give it with \(self.archiveOption)"
        case .readAsCertificate: "give it with \(self.certificateOption), and its key with \(self.keyOption)"
        case .giveKey: "give the file of its key with \(self.keyOption)"
        case .useAsTokenKey: "\(WrongCredentials.Remedy.ofTokens) give it with --p8, --key-id and --team-id"
        case .giveTokenKey, .takeCertificatesOut: remedy.words
        }
    }
}

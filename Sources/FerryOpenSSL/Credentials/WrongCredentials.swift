/// Credentials of another kind than the expected one, with a description and the remedy.
package struct WrongCredentials: Sendable, Hashable {
    package enum Wanted: Sendable {
        case certificate, privateKey, archive
        /// The key of provider tokens.
        case tokenKey
        /// Certificates without a key: of authorities, or of a client that is known by its own.
        case certificatesAlone
    }

    /// The remedy. The command line has its own words for parts of the library's interface.
    package enum Remedy: Sendable {
        case readAsArchive, readAsCertificate
        /// The certificate's key is in another file, which was not given.
        case giveKey
        /// The key may be the one of provider tokens.
        case useAsTokenKey
        case giveTokenKey
        case takeCertificatesOut
    }

    /// The name of the credentials in errors.
    var source: String
    var wanted: Wanted
    package var form: CredentialForm
    /// Whether the key was looked for in the certificate's own file.
    var isOnlyFile = false

    /// The given and the expected kind, as part of a sentence; nil if the kind of the bytes is unknown.
    package var fault: String? {
        guard self.form != .unknown, self.form != .empty else { return nil }
        let wanted =
            switch self.wanted {
            case .certificate: "a certificate"
            case .privateKey: "a private key"
            case .archive: "a PKCS#12 archive"
            case .tokenKey: "the key of provider tokens"
            case .certificatesAlone: "a certificate"
            }
        return "\(self.source) \(self.form.predicate) and not \(wanted)"
    }

    package var remedy: Remedy? {
        switch (self.wanted, self.form) {
        case (.tokenKey, _): .giveTokenKey
        case (.certificatesAlone, .pkcs12): .takeCertificatesOut
        case (.certificate, .pkcs12), (.privateKey, .pkcs12): .readAsArchive
        case (.archive, .certificate), (.archive, .certificateAndKey): .readAsCertificate
        case (.certificate, .privateKey), (.archive, .privateKey): .useAsTokenKey
        case (.privateKey, .certificate) where self.isOnlyFile: .giveKey
        default: nil
        }
    }

    /// Returns `error` with a sentence on the mistake; `error` itself if no mistake shows.
    func explaining(_ error: TLSError) -> TLSError {
        guard let fault else { return error }
        let remedy = self.remedy.map { ": \($0.words)" } ?? ""
        var explained = TLSError(
            error.code,
            "\(fault)\(remedy).",
            causes: error.causes,
            file: error.file,
            line: error.line
        )
        explained.wrongCredentials = self
        return explained
    }
}

extension WrongCredentials.Remedy {
    /// The remedy in words of the library, as part of a sentence.
    package var words: String {
        switch self {
        case .readAsArchive: "read it with TLSIdentity(pkcs12Path:passphrase:)"
        case .readAsCertificate: "read it with TLSIdentity(certificatePath:privateKeyPath:)"
        case .giveKey: "give the file of its key, too"
        case .useAsTokenKey: "\(Self.ofTokens) give it to a ProviderTokenSource"
        case .giveTokenKey: "give the .p8 file that Apple issued"
        case .takeCertificatesOut:
            "take its certificates out with 'openssl pkcs12 -in ARCHIVE -nokeys -out certificates.pem'"
        }
    }

    package static let ofTokens = "a .p8 file of Apple is the key of provider tokens, and over HTTP/2 you"
}

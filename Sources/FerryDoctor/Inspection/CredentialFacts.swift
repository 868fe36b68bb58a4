internal import Ferry
internal import FerryOpenSSL

/// One file of credentials, or the same content from a configuration.
struct CredentialFile: Sendable {
    enum Option: String, Sendable {
        case cert = "--cert"
        case key = "--key"
        case p12 = "--p12"
        case p8 = "--p8"
    }

    var option: Option
    /// The name of the file in messages.
    var name: String
    /// The path of the file; nil if a configuration holds the content.
    var path: String?
    /// The form of the content, or the error that prevented its reading.
    var form: Result<CredentialForm, TLSError>
    /// The permission bits, if other users may read or change the file; otherwise nil.
    var openPermissions: Int?
}

/// The facts about a certificate and its key.
struct CertificateFacts: Sendable {
    var files: [CredentialFile]
    /// The certificate and its issuers in the file. The list is empty if no certificate can be read.
    var certificates: [CertificateSummary] = []
    /// The identity that certificate and key form, or the reason why they form no identity.
    var identity: Result<TLSIdentity, TLSError>
    /// The reason why OpenSSL refuses a readable identity; nil if it accepts the identity.
    var weakness: TLSError?

    /// Whether certificate and key come from one PKCS#12 archive.
    var isArchive: Bool { self.files.first?.option == .p12 }

    /// The identity, if it can be shown to a server.
    var usableIdentity: TLSIdentity? { self.weakness == nil ? try? self.identity.get() : nil }
}

/// The facts about a key for provider tokens.
struct TokenKeyFacts: Sendable {
    var file: CredentialFile
    /// The error of reading the key or of signing with it; nil without an error.
    var fault: TLSError?
    /// Whether the key has the form that Apple issues.
    var isPKCS8 = false
    /// Whether a test signature was valid.
    var signs = false
    var keyID: String?
    var teamID: String?
}

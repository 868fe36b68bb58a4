internal import Ferry
internal import FerryOpenSSL

/// One file of credentials, as it lies on the disk, or its text in a configuration.
struct CredentialFile: Sendable {
    enum Option: String, Sendable {
        case cert = "--cert"
        case key = "--key"
        case p12 = "--p12"
        case p8 = "--p8"
    }

    var option: Option
    /// What messages call it.
    var name: String
    /// Where it lies; nil when its text stands in a configuration.
    var path: String?
    /// What its bytes are, or why they cannot be read.
    var form: Result<CredentialForm, TLSError>
    /// The permission bits, if they let others read or change it; else nil.
    var openPermissions: Int?
}

/// A certificate and its key, as their files show them.
struct CertificateFacts: Sendable {
    var files: [CredentialFile]
    /// The certificate, and what the file holds behind it; empty when none can be read.
    var certificates: [CertificateSummary] = []
    /// Both together, or why they are no identity.
    var identity: Result<TLSIdentity, TLSError>
    /// Why OpenSSL refuses an identity that could be read.
    var weakness: TLSError?

    /// Whether both come from one PKCS#12 archive.
    var isArchive: Bool { self.files.first?.option == .p12 }

    /// Nil unless it can be shown to a server.
    var usableIdentity: TLSIdentity? { self.weakness == nil ? try? self.identity.get() : nil }
}

/// The key of provider tokens, as its file shows it.
struct TokenKeyFacts: Sendable {
    var file: CredentialFile
    /// What makes it unusable, if anything.
    var fault: TLSError?
    /// The file has the form in which Apple issues keys.
    var isPKCS8 = false
    /// A sample was signed, and the signature was valid.
    var signs = false
    var keyID: String?
    var teamID: String?
}

internal import CFerryOpenSSL

/// The certificate authorities that may sign a peer's certificate.
@nonexhaustive
public enum TrustRoots: Sendable, Hashable {
    /// The system's authorities: OpenSSL's default paths, or the bundle of Debian, RHEL, SUSE or Alpine. The environment's
    /// SSL_CERT_FILE and SSL_CERT_DIR override them. Without any authority, no provider can be made, and the error is
    /// ``TLSError/Code/invalidConfiguration``.
    case system
    /// A file of PEM certificates.
    case file(String)
    /// PEM text of certificates.
    case pem([UInt8])

    /// Adds the authorities to a context's store.
    func install(in context: borrowing OwnedContext) throws(TLSError) {
        ErrorQueue.clear()
        let (bytes, source): ([UInt8], String)
        switch self {
        case .system:
            try SystemAuthorities().install(in: context)
            return
        case .file(let path):
            (bytes, source) = (try credentialBytes(atPath: path), sourceName(path))
        case .pem(let text):
            (bytes, source) = (text, "the text of the trust roots")
        }
        let certificates = try PEM.certificatesAlone(bytes, source: source)
        let store = SSL_CTX_get_cert_store(context.pointer)
        for index in 0..<certificates.count {
            guard X509_STORE_add_cert(store, certificates.element(index)) == 1 else {
                throw .openSSL(.invalidConfiguration, "OpenSSL refuses a certificate of \(source) as a trust root.")
            }
        }
    }
}

internal import CFerryOpenSSL

/// A certificate, its chain and its key.
///
/// `@unchecked Sendable`: nothing changes after `init`, and OpenSSL counts references to certificates and keys
/// atomically.
final class KeyMaterial: @unchecked Sendable {
    let key: OwnedKey
    let certificate: OwnedCertificate
    /// The certificates between ``certificate`` and the root, as they are sent to the peer.
    let chain: OwnedCertificateStack

    /// Finds the certificate that belongs to the key. The others become its chain.
    ///
    /// - Throws: `keyMismatch` if the key belongs to no certificate.
    init(key: consuming OwnedKey, certificates: borrowing OwnedCertificateStack, source: String) throws(TLSError) {
        guard let chain = OwnedCertificateStack(CFerryOpenSSL_sk_X509_new()) else {
            throw .openSSL(.internalFailure, "OpenSSL has no memory for a certificate chain.")
        }
        var leaf: OpaquePointer?
        for index in 0..<certificates.count {
            let candidate = certificates.element(index)
            if leaf == nil, X509_check_private_key(candidate, key.pointer) == 1 {
                leaf = candidate
            } else {
                chain.append(candidate)
            }
        }
        ErrorQueue.clear()
        guard let leaf else {
            throw TLSError(
                .keyMismatch,
                "The private key does not belong to the certificate in \(source); pair each certificate with the key "
                    + "that its request was made with."
            )
        }
        X509_up_ref(leaf)
        guard let certificate = OwnedCertificate(leaf) else {
            throw .openSSL(.internalFailure, "OpenSSL has no memory for a certificate.")
        }
        self.key = key
        self.certificate = certificate
        self.chain = chain
    }
}

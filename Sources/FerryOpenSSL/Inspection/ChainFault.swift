internal import CFerryOpenSSL

/// One thing that is wrong with a chain of certificates.
package struct ChainFault: Sendable, Hashable {
    package enum Kind: Sendable, Hashable {
        case expired
        case notYetValid
        /// The server's own certificate is signed with its own key, and is no trust root.
        case selfSigned
        /// The chain ends at an authority that is no trust root, or is not there.
        case unknownIssuer
        /// A trusted authority has the issuer's name, but did not sign the certificate.
        case otherIssuer
        /// The key, or the signature, is below OpenSSL's security level.
        case weak
        /// What OpenSSL calls it.
        case other(String)
    }

    package var kind: Kind
    /// Where in the chain: 0 is the server's own certificate.
    package var place: Int

    package init(kind: Kind, place: Int) {
        self.kind = kind
        self.place = place
    }

    /// - Parameter result: OpenSSL's `X509_V_` code.
    init(result: Int32, place: Int) {
        let kind: Kind =
            switch result {
            case X509_V_ERR_CERT_HAS_EXPIRED: .expired
            case X509_V_ERR_CERT_NOT_YET_VALID: .notYetValid
            case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT: .selfSigned
            case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN, X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT,
                X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY, X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
                .unknownIssuer
            case X509_V_ERR_CERT_SIGNATURE_FAILURE: .otherIssuer
            case X509_V_ERR_EE_KEY_TOO_SMALL, X509_V_ERR_CA_KEY_TOO_SMALL, X509_V_ERR_CA_MD_TOO_WEAK: .weak
            default: .other(String(cString: X509_verify_cert_error_string(Int(result))))
            }
        self.init(kind: kind, place: place)
    }
}

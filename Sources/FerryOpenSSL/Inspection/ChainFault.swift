internal import CFerryOpenSSL

/// One fault of a chain of certificates.
package struct ChainFault: Sendable, Hashable {
    package enum Kind: Sendable, Hashable {
        case expired
        case notYetValid
        /// The server's own certificate is signed with its own key, and is not a trust root.
        case selfSigned
        /// The chain ends at an authority that is not a trust root, or that is missing.
        case unknownIssuer
        /// A trusted authority has the issuer's name but did not sign the certificate.
        case otherIssuer
        /// The key, or the signature, is below OpenSSL's security level.
        case weak
        /// The chain has more authorities than one of them permits.
        case pathTooLong
        /// An authority may not sign for such a name, or limits names in a way that OpenSSL does not know.
        case nameConstraint
        /// The key usage or extended key usage of a certificate is for other uses.
        case wrongPurpose
        /// A certificate that is not an authority issued another one.
        case notAnAuthority
        /// OpenSSL's own words.
        case other(String)

        /// - Parameter result: OpenSSL's `X509_V_` code.
        init(result: Int32) {
            self =
                switch result {
                case X509_V_ERR_CERT_HAS_EXPIRED: .expired
                case X509_V_ERR_CERT_NOT_YET_VALID: .notYetValid
                case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT: .selfSigned
                case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN, X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT,
                    X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY, X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
                    .unknownIssuer
                case X509_V_ERR_CERT_SIGNATURE_FAILURE: .otherIssuer
                case X509_V_ERR_EE_KEY_TOO_SMALL, X509_V_ERR_CA_KEY_TOO_SMALL, X509_V_ERR_CA_MD_TOO_WEAK: .weak
                case X509_V_ERR_PATH_LENGTH_EXCEEDED: .pathTooLong
                case X509_V_ERR_PERMITTED_VIOLATION, X509_V_ERR_EXCLUDED_VIOLATION, X509_V_ERR_SUBTREE_MINMAX,
                    X509_V_ERR_UNSUPPORTED_CONSTRAINT_TYPE, X509_V_ERR_UNSUPPORTED_CONSTRAINT_SYNTAX,
                    X509_V_ERR_UNSUPPORTED_NAME_SYNTAX:
                    .nameConstraint
                case X509_V_ERR_INVALID_PURPOSE, X509_V_ERR_CERT_REJECTED: .wrongPurpose
                case X509_V_ERR_INVALID_CA, X509_V_ERR_KEYUSAGE_NO_CERTSIGN: .notAnAuthority
                default: .other(String(cString: X509_verify_cert_error_string(Int(result))))
                }
        }
    }

    package var kind: Kind
    /// The place in the chain. 0 is the server's own certificate.
    package var place: Int

    package init(kind: Kind, place: Int) {
        self.kind = kind
        self.place = place
    }

    /// - Parameter result: OpenSSL's `X509_V_` code.
    init(result: Int32, place: Int) {
        self.init(kind: Kind(result: result), place: place)
    }
}

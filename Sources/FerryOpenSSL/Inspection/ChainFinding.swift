internal import CFerryOpenSSL

/// The reason why the authorities of a listener do not vouch for a client's certificate: the first fault that OpenSSL
/// found.
package struct ChainFinding: Sendable, Hashable {
    package var fault: ChainFault
    /// The weak part, if the fault is ``ChainFault/Kind/weak``.
    package var weakness: Weakness?

    package enum Weakness: Sendable, Hashable {
        /// A key, such as RSA of 1024 bits.
        case key
        /// The digest of a signature, such as SHA-1.
        case digest
    }

    package init(_ fault: ChainFault, weakness: Weakness? = nil) {
        self.fault = fault
        self.weakness = weakness
    }

    /// - Parameters:
    ///   - result: OpenSSL's `X509_V_` code.
    ///   - place: of the certificate at fault in the chain, from 0.
    init(result: Int32, place: Int32) {
        let weakness: Weakness? =
            switch result {
            case X509_V_ERR_EE_KEY_TOO_SMALL, X509_V_ERR_CA_KEY_TOO_SMALL: .key
            case X509_V_ERR_CA_MD_TOO_WEAK: .digest
            default: nil
            }
        self.init(ChainFault(result: result, place: Int(place)), weakness: weakness)
    }
}

internal import CFerryOpenSSL
internal import FerryCore

/// A verifier of signing certificates: leaf, intermediate, and a root that the owner trusts.
///
/// The roots are pinned. A root that comes with the signature has no meaning.
///
/// `@unchecked Sendable`: nothing changes after `init`, and OpenSSL locks the store while threads verify with it.
package final class SigningChainVerifier: @unchecked Sendable {
    /// The demands on the chain of a signature, in addition to valid signatures and dates.
    package struct Requirement: Sendable {
        /// The object identifier of an extension of the leaf.
        package var leafExtension: String
        /// The object identifier of an extension of the intermediate.
        package var intermediateExtension: String

        package init(leafExtension: String, intermediateExtension: String) {
            self.leafExtension = leafExtension
            self.intermediateExtension = intermediateExtension
        }
    }

    private let roots: OwnedCertificateStore
    private let requirement: Requirement
    private let isStrict: Bool

    /// - Parameters:
    ///   - roots: PEM text of one or more certificates, or one in DER form.
    ///   - isStrict: whether the certificates must keep RFC 5280 to the letter (`X509_V_FLAG_X509_STRICT`).
    /// - Throws: ``TLSError`` with `noCertificate`, `malformed` or `invalidConfiguration`.
    package init(roots bytes: [UInt8], isStrict: Bool, requirement: Requirement) throws(TLSError) {
        let certificates = try PEM.certificatesAlone(bytes, source: "the text of the trust roots")
        guard let store = OwnedCertificateStore(X509_STORE_new()) else {
            throw .openSSL(.internalFailure, "OpenSSL has no memory for trust roots.")
        }
        for index in 0..<certificates.count {
            guard X509_STORE_add_cert(store.pointer, certificates.element(index)) == 1 else {
                throw .openSSL(.invalidConfiguration, "OpenSSL refuses a certificate as a trust root.")
            }
        }
        self.roots = store
        self.requirement = requirement
        self.isStrict = isStrict
    }

    /// Verifies a leaf and its intermediate as they were at a moment. Cost: 2 ms with P-384.
    ///
    /// - Parameters:
    ///   - leaf: the signer's certificate in DER form.
    ///   - intermediate: the certificate of the leaf's issuer in DER form.
    ///   - seconds: the moment, in seconds since 1970.
    package func verify(
        leaf: [UInt8],
        intermediate: [UInt8],
        at seconds: Int
    ) throws(SigningChainFault) -> SigningChain {
        ErrorQueue.clear()
        defer { ErrorQueue.clear() }
        guard let leaf = Self.certificate(leaf) else { throw .malformed(.leaf) }
        guard let intermediate = Self.certificate(intermediate) else { throw .malformed(.intermediate) }
        guard let untrusted = OwnedCertificateStack(CFerryOpenSSL_sk_X509_new()),
            let context = OwnedStoreContext(X509_STORE_CTX_new())
        else { throw .notJudged("OpenSSL has no memory") }
        untrusted.append(intermediate.pointer)
        guard X509_STORE_CTX_init(context.pointer, self.roots.pointer, leaf.pointer, untrusted.pointer) == 1,
            let parameters = X509_STORE_CTX_get0_param(context.pointer)
        else { throw .notJudged("OpenSSL cannot begin") }
        X509_VERIFY_PARAM_set_time(parameters, time_t(seconds))
        if self.isStrict { X509_VERIFY_PARAM_set_flags(parameters, UInt(X509_V_FLAG_X509_STRICT)) }
        guard X509_verify_cert(context.pointer) == 1 else {
            throw Self.fault(context.pointer)
        }
        // Leaf, intermediate, root. A root that signed the leaf itself would make a chain of two.
        let chain = X509_STORE_CTX_get0_chain(context.pointer)
        guard CFerryOpenSSL_sk_X509_count(chain) == 3, let root = CFerryOpenSSL_sk_X509_value(chain, 2) else {
            throw .wrongLength
        }
        guard CertificateReader(leaf.pointer).extensionValue(oid: self.requirement.leafExtension) != nil else {
            throw .missingExtension(.leaf)
        }
        let intermediateReader = CertificateReader(intermediate.pointer)
        guard intermediateReader.extensionValue(oid: self.requirement.intermediateExtension) != nil else {
            throw .missingExtension(.intermediate)
        }
        return try SigningChain(leaf: leaf, intermediate: intermediate, root: root)
    }

    /// Returns whether `signature` (r and s, 64 bytes) is that of a certificate's key, whoever issued it; nil if the certificate
    /// cannot be read or has no P-256 key. Cost: 80 µs, so it comes before a look at the chain.
    package static func isSignature(_ signature: [UInt8], of message: [UInt8], by leaf: [UInt8]) -> Bool? {
        ErrorQueue.clear()
        defer { ErrorQueue.clear() }
        guard let leaf = Self.certificate(leaf), let key = OwnedKey(X509_get_pubkey(leaf.pointer)),
            let key = try? ES256Key(key, source: "the certificate")
        else { return nil }
        return key.isValidSignature(signature, for: message)
    }

    /// Reads exactly one certificate: bytes after it are a fault.
    private static func certificate(_ der: [UInt8]) -> OwnedCertificate? {
        var isWhole = false
        let pointer = decodedDER(der) { cursor, length in
            let start = cursor.pointee
            let certificate = d2i_X509(nil, cursor, length)
            isWhole = start.map { cursor.pointee == $0 + length } ?? false
            return certificate
        }
        guard let certificate = OwnedCertificate(pointer), isWhole else { return nil }
        return certificate
    }

    private static func fault(_ context: OpaquePointer) -> SigningChainFault {
        let result = X509_STORE_CTX_get_error(context)
        let place = SigningChainFault.Place(rawValue: Int(X509_STORE_CTX_get_error_depth(context))) ?? .root
        return switch result {
        case X509_V_ERR_CERT_HAS_EXPIRED: .expired(place)
        case X509_V_ERR_CERT_NOT_YET_VALID: .notYetValid(place)
        case X509_V_ERR_OUT_OF_MEM, X509_V_ERR_UNSPECIFIED: .notJudged(self.words(result))
        default: .unverifiable(self.words(result))
        }
    }

    private static func words(_ result: Int32) -> String {
        String(cString: X509_verify_cert_error_string(Int(result)))
    }
}

/// The reason why the certificates of a signature do not count, or could not be judged.
package enum SigningChainFault: Error, Hashable, Sendable {
    package enum Place: Int, Sendable, CustomStringConvertible {
        case leaf, intermediate, root

        package var description: String {
            switch self {
            case .leaf: "the signer's certificate"
            case .intermediate: "the intermediate certificate"
            case .root: "the root"
            }
        }
    }

    case malformed(Place)
    case expired(Place)
    case notYetValid(Place)
    case missingExtension(Place)
    /// The leaf's key is not P-256.
    case wrongKey
    case wrongLength
    /// OpenSSL's own words, such as "unable to get local issuer certificate".
    case unverifiable(String)
    /// The process has no memory, say. The certificates may be good.
    case notJudged(String)
}

/// A verified chain: the signer's key, and the period in which all certificates are valid.
///
/// `@unchecked Sendable`: nothing changes after `init`, and OpenSSL lets any number of threads read a certificate.
package final class SigningChain: @unchecked Sendable {
    /// Seconds since 1970, both ends included.
    package let validity: ClosedRange<Int>
    let leaf: OwnedCertificate
    let intermediate: OwnedCertificate
    let root: OwnedCertificate
    private let key: ES256Key

    fileprivate init(
        leaf: consuming OwnedCertificate,
        intermediate: consuming OwnedCertificate,
        root: OpaquePointer
    ) throws(SigningChainFault) {
        // `X509_get_pubkey` takes a reference, and the key frees it.
        guard let key = OwnedKey(X509_get_pubkey(leaf.pointer)),
            let key = try? ES256Key(key, source: "the certificate")
        else { throw .wrongKey }
        var (from, to) = (Int.min, Int.max)
        for certificate in [leaf.pointer, intermediate.pointer, root] {
            let reader = CertificateReader(certificate)
            guard let first = reader.notBefore, let last = reader.notAfter else {
                throw .unverifiable("a certificate has no readable dates")
            }
            (from, to) = (max(from, first), min(to, last))
        }
        X509_up_ref(root)
        guard from <= to, let root = OwnedCertificate(root) else {
            throw .unverifiable("the certificates have no common period")
        }
        self.validity = from...to
        self.key = key
        self.leaf = leaf
        self.intermediate = intermediate
        self.root = root
    }

    /// Returns whether `signature` (r and s, 64 bytes) is the leaf's signature of `message`. Cost: 60 µs.
    package func isValidSignature(_ signature: [UInt8], for message: [UInt8]) -> Bool {
        self.key.isValidSignature(signature, for: message)
    }
}

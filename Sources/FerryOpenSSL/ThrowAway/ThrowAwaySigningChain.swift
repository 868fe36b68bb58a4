internal import CFerryOpenSSL

/// Certificates of the shape that the App Store signs with: a P-384 root and intermediate, a P-256 leaf, all signed with
/// SHA-384, and Apple's two marks.
///
/// Safe from any thread.
package final class ThrowAwaySigningChain: Sendable {
    /// An unusual property of a chain, for tests of verifiers.
    package struct Shape: Sendable {
        /// The validity of the leaf, in seconds relative to now.
        package var leafValidity: ClosedRange<Int> = -365 * 86_400...365 * 86_400
        /// The validity of root and intermediate, in seconds relative to now.
        package var authorityValidity: ClosedRange<Int> = -10 * 365 * 86_400...10 * 365 * 86_400
        /// Whether the leaf has the mark of signers for the App Store.
        package var marksLeaf = true
        /// Whether the intermediate has the mark of Apple's developer authority.
        package var marksIntermediate = true
        /// Whether the certificates name the keys that signed them, as strict verifiers demand.
        package var hasKeyIdentifiers = true
        /// Whether the intermediate may issue certificates.
        package var isIntermediateAuthority = true
        /// The address of the OCSP responder that leaf and intermediate name.
        package var ocsp: String?
        /// The address that the intermediate names, if another: its responder speaks for the root.
        package var intermediateOCSP: String?

        package init() {}
    }

    /// 1.2.840.113635.100.6.11.1: "Mac App Store Receipt Signing" in Apple's certification practice statement.
    package static let leafMark = "1.2.840.113635.100.6.11.1"
    /// 1.2.840.113635.100.6.2.1: Apple's Worldwide Developer Relations authority.
    package static let intermediateMark = "1.2.840.113635.100.6.2.1"

    package static let defaultName = "Ferry throw-away"

    private let root: KeyMaterial
    private let intermediate: KeyMaterial
    private let leaf: KeyMaterial
    /// The leaf's key.
    package let key: ES256Key

    /// - Parameter root: the root of an earlier chain, from ``root(name:shape:)``; nil for a new one.
    /// - Throws: ``TLSError`` with `internalFailure`.
    package init(
        name: String = ThrowAwaySigningChain.defaultName,
        shape: Shape = Shape(),
        root: TLSIdentity? = nil
    ) throws(TLSError) {
        let identifiers =
            Self.keyIdentifier(shape)
            + (shape.hasKeyIdentifiers ? [(NID_authority_key_identifier, "keyid:always")] : [])
        func responder(_ address: String?) -> [(Int32, String)] {
            address.map { [(NID_info_access, "OCSP;URI:\($0)")] } ?? []
        }
        self.root = if let root { root.material } else { try Self.newRoot(name, shape) }
        self.intermediate = try CertificateIssuer(
            Self.request(
                "\(name) intermediate",
                shape.authorityValidity,
                mark: shape.marksIntermediate ? Self.intermediateMark : nil
            )
        )
        .issued(
            by: self.root,
            to: generateKey(.p384),
            extensions: (shape.isIntermediateAuthority
                ? Self.authority : [(NID_basic_constraints, "critical,CA:FALSE")])
                + identifiers + responder(shape.intermediateOCSP ?? shape.ocsp)
        )
        self.leaf = try CertificateIssuer(
            Self.request("\(name) leaf", shape.leafValidity, mark: shape.marksLeaf ? Self.leafMark : nil)
        )
        .issued(
            by: self.intermediate,
            to: generateKey(.p256),
            extensions: [(NID_basic_constraints, "critical,CA:FALSE"), (NID_key_usage, "critical,digitalSignature")]
                + identifiers + responder(shape.ocsp)
        )
        self.key = try ES256Key(p8: pemBytes(key: self.leaf.key.pointer))
    }

    /// Returns the root of chains that are made later, with its key.
    ///
    /// - Throws: ``TLSError`` with `internalFailure`.
    package static func root(name: String = defaultName, shape: Shape = Shape()) throws(TLSError) -> TLSIdentity {
        try TLSIdentity(self.newRoot(name, shape))
    }

    private static func newRoot(_ name: String, _ shape: Shape) throws(TLSError) -> KeyMaterial {
        let request = self.request("\(name) root", shape.authorityValidity, mark: nil, hasPolicy: false)
        return try CertificateIssuer(request)
            .selfSigned(generateKey(.p384), extensions: self.authority + self.keyIdentifier(shape))
    }

    private static func request(
        _ name: String,
        _ validity: ClosedRange<Int>,
        mark: String?,
        hasPolicy: Bool = true
    ) -> CertificateRequest {
        let null: [UInt8] = [0x05, 0x00]
        return CertificateRequest(
            subject: [("CN", name), ("OU", "Throw-away signing"), ("O", "Ferry"), ("C", "US")],
            validity: (validity.lowerBound, validity.upperBound),
            rawExtensions: (hasPolicy ? [(ReliancePolicy.oid, ReliancePolicy.der)] : [])
                + (mark.map { [($0, null)] } ?? []),
            digest: .sha384
        )
    }

    /// The extensions of certificates that may issue others.
    private static var authority: [(Int32, String)] {
        [(NID_basic_constraints, "critical,CA:TRUE"), (NID_key_usage, "critical,keyCertSign,cRLSign")]
    }

    private static func keyIdentifier(_ shape: Shape) -> [(Int32, String)] {
        shape.hasKeyIdentifiers ? [(NID_subject_key_identifier, "hash")] : []
    }

    /// The root as PEM text. Verifiers must trust it.
    package var rootPEM: [UInt8] { certificatePEMBytes([self.root.certificate.pointer]) }

    /// An authority of the chain, with which an OCSP responder signs.
    package enum Authority: Sendable {
        case root, intermediate
    }

    /// The certificate and the key of an authority as PEM text.
    ///
    /// - Throws: ``TLSError`` with `internalFailure`.
    package func pem(_ authority: Authority) throws(TLSError) -> (certificate: [UInt8], key: [UInt8]) {
        let material = authority == .root ? self.root : self.intermediate
        return (certificatePEMBytes([material.certificate.pointer]), try pemBytes(key: material.key.pointer))
    }

    /// Leaf, intermediate and root in DER form.
    package var certificates: [[UInt8]] {
        [self.leaf, self.intermediate, self.root].map { material in
            let certificate = material.certificate.pointer
            return encodedDER { i2d_X509(certificate, $0) } ?? []
        }
    }
}

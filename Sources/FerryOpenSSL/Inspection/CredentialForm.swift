internal import CFerryOpenSSL

/// The kind of credentials in a file, found from its bytes alone. No passphrase is needed.
package enum CredentialForm: Sendable, Hashable, CaseIterable {
    case certificate
    case certificateAndKey
    /// A private key, encrypted or not.
    case privateKey
    case pkcs12
    /// A request for a certificate, which no authority has answered yet.
    case certificateRequest
    case publicKey
    case openSSHKey
    case javaKeyStore
    case empty
    case unknown

    package init(_ bytes: [UInt8]) {
        let bytes = PEMText.repaired(bytes)
        if bytes.isEmpty {
            self = .empty
        } else if PEM.isText(bytes) {
            self.init(labels: Self.labels(bytes))
        } else if bytes.starts(with: [0xFE, 0xED, 0xFE, 0xED]) || bytes.starts(with: [0xCE, 0xCE, 0xCE, 0xCE]) {
            // The first four bytes of the formats JKS and JCEKS.
            self = .javaKeyStore
        } else {
            self.init(der: bytes)
        }
    }

    private init(labels: [Substring]) {
        let hasCertificate = labels.contains {
            ["CERTIFICATE", "X509 CERTIFICATE", "TRUSTED CERTIFICATE"].contains($0)
        }
        let hasKey = labels.contains { $0.hasSuffix("PRIVATE KEY") && $0 != "OPENSSH PRIVATE KEY" }
        self =
            if hasCertificate {
                hasKey ? .certificateAndKey : .certificate
            } else if hasKey {
                .privateKey
            } else if labels.contains("OPENSSH PRIVATE KEY") {
                .openSSHKey
            } else if labels.contains(where: { $0.hasSuffix("CERTIFICATE REQUEST") }) {
                .certificateRequest
            } else if labels.contains(where: { $0.hasSuffix("PUBLIC KEY") }) {
                .publicKey
            } else {
                .unknown
            }
    }

    private init(der bytes: [UInt8]) {
        defer { ErrorQueue.clear() }
        self =
            if OwnedCertificate(decodedDER(bytes) { d2i_X509(nil, $0, $1) }) != nil {
                .certificate
            } else if OwnedPKCS12(decodedDER(bytes) { d2i_PKCS12(nil, $0, $1) }) != nil {
                .pkcs12
            } else if OwnedKey(decodedDER(bytes) { d2i_AutoPrivateKey(nil, $0, $1) }) != nil {
                .privateKey
            } else {
                .unknown
            }
    }

    /// Returns the words between "BEGIN" and the dashes, one text for each block.
    private static func labels(_ bytes: [UInt8]) -> [Substring] {
        String(decoding: bytes, as: UTF8.self).split(whereSeparator: \.isNewline).compactMap { line in
            guard line.hasPrefix("-----BEGIN "), let end = line.dropFirst(11).firstRange(of: "-----") else {
                return nil
            }
            return line.dropFirst(11)[..<end.lowerBound]
        }
    }
}

extension CredentialForm {
    /// The description of a file of this form, as the predicate of a sentence.
    package var predicate: String {
        switch self {
        case .certificate: "holds a certificate"
        case .certificateAndKey: "holds a certificate and its key"
        case .privateKey: "holds a private key"
        case .pkcs12: "is a PKCS#12 archive"
        case .certificateRequest: "is a request for a certificate"
        case .publicKey: "holds a public key"
        case .openSSHKey: "holds a key in OpenSSH's own form"
        case .javaKeyStore: "is a Java key store"
        case .empty: "is empty"
        case .unknown: "holds neither certificate nor key, in PEM or DER form"
        }
    }
}

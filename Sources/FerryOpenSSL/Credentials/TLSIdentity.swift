internal import FerryCore
public import FerryPlatform

/// A certificate with its chain and private key: the identity of this side in a TLS handshake.
///
/// Reading is strict, so that a bad file is reported at start-up. The key must belong to one of the certificates.
/// ``validate(at:)`` separately checks that the certificate is valid *now*. Values are immutable and shared by
/// reference, so copies are cheap.
public struct TLSIdentity: Sendable {
    let material: KeyMaterial

    /// The contents of the certificate.
    public let summary: CertificateSummary

    /// The contents of the certificate and of those that are sent with it.
    package var certificates: [CertificateSummary] {
        [self.summary]
            + (0..<self.material.chain.count).compactMap { try? CertificateSummary(self.material.chain.element($0)) }
    }

    /// Whether only OpenSSL's legacy provider could read the archive or the key.
    package let neededLegacyProvider: Bool

    /// Whether ``validate(at:)`` accepts the identity after its expiration. Some gateways accept it, and Apple's answer
    /// shows more than a refusal to try.
    package var isUsedWhenExpired = false

    init(_ material: KeyMaterial, neededLegacyProvider: Bool = false) throws(TLSError) {
        self.material = material
        self.neededLegacyProvider = neededLegacyProvider
        self.summary = try CertificateSummary(material.certificate.pointer)
    }

    /// Reads PEM text (or DER bytes) of a certificate chain and of its private key.
    ///
    /// - Parameters:
    ///   - certificateChain: the certificate and, in any order, the intermediates to send with it.
    ///   - privateKey: PKCS#8, PKCS#1 or SEC 1; may be the same bytes as `certificateChain`.
    ///   - passphrase: opens an encrypted key; ignored for other keys.
    ///
    /// A key that old tools encrypted (DES, RC2) is opened with OpenSSL's legacy provider in a separate library
    /// context. The process's providers stay as they are.
    ///
    /// - Throws: ``TLSError`` with `noCertificate`, `noPrivateKey`, `severalPrivateKeys`, `malformed`,
    ///   `passphraseRequired`, `wrongPassphrase`, `legacyAlgorithm` or `keyMismatch`.
    public init(
        certificateChain: [UInt8],
        privateKey: [UInt8],
        passphrase: String? = nil
    ) throws(TLSError) {
        try self.init(
            chain: certificateChain,
            from: "the certificate chain",
            key: privateKey,
            from: "the private key",
            passphrase: passphrase
        )
    }

    /// Reads a certificate chain and its private key from files in PEM or DER form.
    ///
    /// - Parameters:
    ///   - certificatePath: the certificate and, in any order, the intermediates to send with it.
    ///   - privateKeyPath: the key; nil if it stands in the same file as the certificate.
    ///   - passphrase: opens an encrypted key; ignored for other keys.
    /// - Throws: ``TLSError`` with `fileNotFound` or `fileUnreadable`, or with any code of
    ///   ``init(certificateChain:privateKey:passphrase:)``. Each error names the file.
    public init(
        certificatePath: String,
        privateKeyPath: String? = nil,
        passphrase: String? = nil
    ) throws(TLSError) {
        let chain = try credentialBytes(atPath: certificatePath)
        let key = if let privateKeyPath { try credentialBytes(atPath: privateKeyPath) } else { chain }
        try self.init(
            chain: chain,
            from: sourceName(certificatePath),
            key: key,
            from: sourceName(privateKeyPath ?? certificatePath),
            passphrase: passphrase
        )
    }

    /// Reads a PKCS#12 archive.
    ///
    /// Old archives, such as exported keychains (RC2-40, triple DES), are opened with OpenSSL's legacy provider in a
    /// separate library context. The process's providers stay as they are.
    ///
    /// - Throws: ``TLSError`` with `malformed`, `passphraseRequired`, `wrongPassphrase`, `legacyAlgorithm`,
    ///   `noCertificate`, `noPrivateKey`, `severalPrivateKeys` or `keyMismatch`.
    public init(pkcs12 bytes: [UInt8], passphrase: String = "") throws(TLSError) {
        try self.init(pkcs12: bytes, passphrase: passphrase, source: "the PKCS#12 archive")
    }

    /// Reads a PKCS#12 file.
    ///
    /// - Throws: ``TLSError`` with `fileNotFound` or `fileUnreadable`, or with any code of
    ///   ``init(pkcs12:passphrase:)``.
    public init(pkcs12Path: String, passphrase: String = "") throws(TLSError) {
        let bytes = try credentialBytes(atPath: pkcs12Path)
        try self.init(pkcs12: bytes, passphrase: passphrase, source: sourceName(pkcs12Path))
    }

    /// Reads like ``init(certificateChain:privateKey:passphrase:)``. The sources are the names of the bytes in errors.
    package init(
        chain: [UInt8],
        from chainSource: String,
        key: [UInt8],
        from keySource: String,
        passphrase: String?
    ) throws(TLSError) {
        let certificates: OwnedCertificateStack
        do {
            certificates = try PEM.certificates(chain, source: chainSource)
        } catch  where error.code == .noCertificate {
            let form = CredentialForm(chain)
            if form == .privateKey, CredentialForm(key) == .certificate {
                let message = "\(chainSource) holds the private key and \(keySource) the certificate: exchange them."
                throw TLSError(error.code, message, causes: error.causes)
            }
            throw WrongCredentials(source: chainSource, wanted: .certificate, form: form).explaining(error)
        }
        let isOnlyFile = key == chain
        let bytes = key
        let key: PEM.PrivateKey
        do {
            key = try PEM.privateKey(bytes, passphrase: passphrase, source: keySource)
        } catch  where error.code == .noPrivateKey {
            throw WrongCredentials(
                source: keySource,
                wanted: .privateKey,
                form: CredentialForm(bytes),
                isOnlyFile: isOnlyFile
            )
            .explaining(error)
        }
        let neededLegacyProvider = key.neededLegacyProvider
        try self.init(
            KeyMaterial(key: key.key, certificates: certificates, source: chainSource),
            neededLegacyProvider: neededLegacyProvider
        )
    }

    /// Reads like ``init(pkcs12:passphrase:)``. `source` is the name of the bytes in errors.
    package init(pkcs12 bytes: [UInt8], passphrase: String, source: String) throws(TLSError) {
        let contents: PKCS12.Contents
        do {
            contents = try PKCS12.open(bytes, passphrase: passphrase, source: source)
        } catch {
            let form = CredentialForm(bytes)
            guard form != .pkcs12 else { throw error }
            throw WrongCredentials(source: source, wanted: .archive, form: form).explaining(error)
        }
        try self.init(contents, source: source)
    }

    private init(_ contents: consuming PKCS12.Contents, source: String) throws(TLSError) {
        let certificates = contents.certificates
        let neededLegacyProvider = contents.neededLegacyProvider
        try self.init(
            KeyMaterial(key: contents.key, certificates: certificates, source: source),
            neededLegacyProvider: neededLegacyProvider
        )
    }

    /// Checks the certificate's period of validity.
    ///
    /// - Throws: ``TLSError`` with `certificateExpired` or `certificateNotYetValid`.
    public func validate(at date: Date) throws(TLSError) {
        if date > self.summary.notAfter, !self.isUsedWhenExpired {
            throw TLSError(
                .certificateExpired,
                "The certificate \(self.summary.subject) expired at \(self.summary.notAfter.formatted(.iso8601)), and "
                    + "\(ClockReading(date)): renew the certificate, or set the clock right."
            )
        }
        if date < self.summary.notBefore {
            throw TLSError(
                .certificateNotYetValid,
                "The certificate \(self.summary.subject) is valid from \(self.summary.notBefore.formatted(.iso8601)) only, and "
                    + "\(ClockReading(date)): set the clock right, or wait until then."
            )
        }
    }
}

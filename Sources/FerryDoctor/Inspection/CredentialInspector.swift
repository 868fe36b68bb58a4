internal import Ferry
internal import FerryOpenSSL
internal import FerryTerminal

/// A reader of credential files, which collects facts about them.
enum CredentialInspector {
    static func identity(_ source: IdentitySource, _ profile: TLSProfile) -> CertificateFacts {
        switch source.files {
        case .pair(let certificate, let key):
            let (file, chain) = self.read(.cert, certificate, source.certificateOption)
            let own = key.map { self.read(.key, $0, source.keyOption) }
            var facts = CertificateFacts(
                files: [file] + (own.map { [$0.file] } ?? []),
                identity: Result { () throws(TLSError) in
                    try TLSIdentity(
                        chain: chain.get(),
                        from: file.name,
                        key: (own?.bytes ?? chain).get(),
                        from: (own?.file ?? file).name,
                        passphrase: source.passphrase
                    )
                }
            )
            self.complete(&facts, try? chain.get(), profile)
            return facts
        case .archive(let archive):
            let (file, bytes) = self.read(.p12, archive, source.archiveOption)
            var facts = CertificateFacts(
                files: [file],
                identity: Result { () throws(TLSError) in
                    try TLSIdentity(pkcs12: bytes.get(), passphrase: source.passphrase ?? "", source: file.name)
                }
            )
            self.complete(&facts, nil, profile)
            return facts
        }
    }

    static func tokenKey(_ path: String, keyID: String?, teamID: String?) -> TokenKeyFacts {
        let (file, bytes) = self.read(.p8, .file(path), CredentialFile.Option.p8.rawValue)
        var facts = TokenKeyFacts(file: file, keyID: keyID, teamID: teamID)
        do {
            let key = try ES256Key(p8: bytes.get(), source: file.name)
            let sample = Array("ferry doctor".utf8)
            facts.signs = try key.isValidSignature(key.sign(sample), for: sample)
        } catch {
            facts.fault = error
        }
        let text = String(decoding: (try? bytes.get()) ?? [], as: UTF8.self)
        facts.isPKCS8 = text.contains("-----BEGIN PRIVATE KEY-----")
        return facts
    }

    /// - Parameter bytes: the certificates, for the case that the identity has failed and cannot supply them.
    private static func complete(_ facts: inout CertificateFacts, _ bytes: [UInt8]?, _ profile: TLSProfile) {
        let identity = try? facts.identity.get()
        let text = identity?.certificateChainPEM ?? bytes ?? []
        facts.certificates = (try? CertificateChain(certificates: text, source: ""))?.certificates ?? []
        guard let identity else { return }
        do {
            let roots = TrustRoots.pem(identity.certificateChainPEM)
            _ = try TLSContext(client: .init(trustRoots: roots, identity: identity, profile: profile))
        } catch {
            facts.weakness = error
        }
    }

    private static func read(
        _ option: CredentialFile.Option,
        _ material: CredentialMaterial,
        _ words: String
    ) -> (file: CredentialFile, bytes: Result<[UInt8], TLSError>) {
        let bytes = Result { () throws(TLSError) in try material.read(words) }
        let path = if case .file(let path) = material { path } else { String?.none }
        let file = CredentialFile(
            option: option,
            name: material.name(words),
            path: path,
            form: bytes.map { CredentialForm($0) },
            openPermissions: path.flatMap { FilePermissions.open($0) }
        )
        return (file, bytes)
    }
}

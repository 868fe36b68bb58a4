internal import Ferry
internal import FerryOpenSSL

#if canImport(Glibc)
private import Glibc
#elseif canImport(Musl)
private import Musl
#else
private import Darwin
#endif

/// Reads files of credentials and notes what they hold.
enum CredentialInspector {
    static func certificate(
        _ path: String,
        keyPath: String?,
        passphrase: String?,
        _ profile: TLSProfile
    ) -> CertificateFacts {
        let (file, bytes) = self.read(.cert, path)
        var facts = CertificateFacts(
            files: [file],
            identity: Result { () throws(TLSError) in
                try TLSIdentity(certificatePath: path, privateKeyPath: keyPath, passphrase: passphrase)
            }
        )
        if let keyPath { facts.files.append(self.read(.key, keyPath).file) }
        self.complete(&facts, bytes, profile)
        return facts
    }

    static func archive(_ path: String, passphrase: String?, _ profile: TLSProfile) -> CertificateFacts {
        var facts = CertificateFacts(
            files: [self.read(.p12, path).file],
            identity: Result { () throws(TLSError) in
                try TLSIdentity(pkcs12Path: path, passphrase: passphrase ?? "")
            }
        )
        self.complete(&facts, nil, profile)
        return facts
    }

    static func tokenKey(_ path: String, keyID: String?, teamID: String?) -> TokenKeyFacts {
        let (file, bytes) = self.read(.p8, path)
        var facts = TokenKeyFacts(file: file, keyID: keyID, teamID: teamID)
        do {
            let key = try ES256Key(path: path)
            let sample = Array("ferry doctor".utf8)
            facts.signs = try key.isValidSignature(key.sign(sample), for: sample)
        } catch {
            facts.fault = error
        }
        facts.isPKCS8 = String(decoding: bytes ?? [], as: UTF8.self).contains("-----BEGIN PRIVATE KEY-----")
        return facts
    }

    /// - Parameter bytes: the certificates, for the case that they cannot be had from the identity.
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

    private static func read(_ option: CredentialFile.Option, _ path: String) -> (file: CredentialFile, bytes: [UInt8]?)
    {
        let bytes = Result { () throws(TLSError) in try credentialBytes(atPath: path) }
        let file = CredentialFile(
            option: option,
            path: path,
            form: bytes.map { CredentialForm($0) },
            permissions: self.permissions(path)
        )
        return (file, try? bytes.get())
    }

    /// The permission bits; nil when the system does not tell.
    static func permissions(_ path: String) -> Int? {
        var information = stat()
        guard stat(path, &information) == 0 else { return nil }
        return Int(information.st_mode & 0o777)
    }
}

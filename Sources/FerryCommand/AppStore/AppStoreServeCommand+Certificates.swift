internal import FerryOpenSSL
internal import FerryTerminal

extension AppStoreServeCommand {
    /// The certificates that the receiver shows or trusts.
    ///
    /// - Parameters:
    ///   - identity: nil behind a proxy that has the certificate.
    ///   - admin: nil: there is no admin port, or it is not encrypted.
    func certificates(_ identity: TLSIdentity?, admin: TLSIdentity?) -> [CertificateWarnings.Entry] {
        let cert = self.identity.text("cert")
        let own = (option: cert == nil ? "--p12" : "--cert", path: cert ?? self.identity.text("p12"))
        let authorities = self.forwardCA.flatMap { path -> CertificateChain? in
            // A pipe was read already. A file that cannot be read fails the start with a sentence of its own.
            let file = OptionFile("--forward-ca", path)
            let bytes = file.isRegular ? try? file.bytes() : nil
            return bytes.flatMap { try? CertificateChain(certificates: $0, source: path) }
        }
        let files = [
            (own.option, own.path, identity?.certificates), ("--forward-ca", self.forwardCA, authorities?.certificates),
            ("--admin-cert", self.admin.cert, admin?.certificates),
        ]
        return files.compactMap { option, path, certificates in
            guard let path, let certificates else { return nil }
            return CertificateWarnings.Entry(use: option, file: OptionFile(option, path).name, certificates)
        }
    }
}

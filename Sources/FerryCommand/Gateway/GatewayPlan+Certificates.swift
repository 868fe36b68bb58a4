internal import Ferry
internal import FerryOpenSSL
internal import FerryPlatform
internal import FerryTerminal

extension GatewayPlan {
    /// The certificates that this gateway shows or trusts. Those of its clients are left out, because their dates do
    /// not count.
    ///
    /// - Parameter output: the path of a name in the configuration.
    static func certificates(
        _ file: GatewayFile,
        identities: [TLSIdentity],
        upstreams: [(name: String, configuration: HTTP2Configuration)],
        admin: TLSIdentity?,
        _ output: (String) -> String
    ) -> [CertificateWarnings.Entry] {
        func entry(_ use: String, _ name: String, _ certificates: [CertificateSummary]) -> CertificateWarnings.Entry? {
            CertificateWarnings.Entry(use: use, file: OptionFile("'\(use)'", output(name)).name, certificates)
        }
        func authorities(_ use: String, _ name: String) -> CertificateWarnings.Entry? {
            // A pipe can be read only once. A file that cannot be read fails the start with a sentence of its own.
            let file = OptionFile("'\(use)'", output(name))
            let bytes = file.isRegular ? try? file.bytes() : nil
            let chain = bytes.flatMap { try? CertificateChain(certificates: $0, source: name) }
            return entry(use, name, chain?.certificates ?? [])
        }
        var entries: [CertificateWarnings.Entry?] = []
        for (index, (listen, identity)) in zip(file.listen, identities).enumerated() {
            entries.append(entry(file.listenMember(index, "cert"), listen.cert, identity.certificates))
            if let name = listen.clientCA { entries.append(authorities(file.listenMember(index, "clientCA"), name)) }
        }
        for (name, configuration) in upstreams {
            guard let upstream = file.upstreams[name] else { continue }
            if case .certificate(let identity) = configuration.credentials, let cert = upstream.text("cert") {
                entries.append(entry("upstreams.\(name).cert", cert, identity.certificates))
            }
            if let ca = upstream.text("ca") { entries.append(authorities("upstreams.\(name).ca", ca)) }
        }
        if let cert = file.admin?.cert, let admin { entries.append(entry("admin.cert", cert, admin.certificates)) }
        return entries.compactMap { $0 }
    }

    /// Refuses a listener whose certificate has ended: clients that verify it would all fail.
    func requireValidListener(at now: Date) throws(CommandFailure) {
        let entry = self.certificates.first { entry in
            entry.use.hasPrefix("listen") && entry.use.hasSuffix(".cert") && entry.hasEnded(at: now)
        }
        guard let entry else { return }
        throw .usage(
            "\(entry.use): the certificate in \(entry.file) (\(entry.subject)) expired on "
                + "\(entry.end.formatted(.iso8601.year().month().day())): no client that verifies it would connect."
        )
    }
}

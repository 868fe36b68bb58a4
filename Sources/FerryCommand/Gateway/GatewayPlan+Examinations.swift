internal import Ferry
internal import FerryDoctor
internal import FerryTerminal

extension GatewayPlan {
    /// Where the credentials of an upstream are.
    struct CredentialFiles {
        var certificate: String?
        /// Nil: the key is in the file of the certificate.
        var key: String?
        var tokenKey: String?
        var keyID: String?
        var teamID: String?

        /// - Parameter output: the path of a name in the configuration.
        init(_ upstream: GatewayFile.Upstream, _ output: (String) -> String) {
            self.certificate = upstream.text("cert").map(output)
            self.key = upstream.text("key").map(output)
            self.tokenKey = upstream.text("p8").map(output)
            self.keyID = upstream.text("keyId")
            self.teamID = upstream.text("teamId")
        }
    }

    /// The examination of each upstream, with its credentials and its proxy.
    ///
    /// - Parameter limit: the time limit of each step.
    func examinations(limit: Duration) -> [(upstream: String, examination: PushExamination)] {
        self.upstreamNames.indices.map { index in
            let upstream = self.upstreams[index]
            let files = self.credentialFiles[index]
            var examination = PushExamination(limit: limit)
            examination.host = Endpoint(host: upstream.host, port: upstream.port)
            examination.needsHTTP2 = true
            examination.trustRoots = upstream.trustRoots
            examination.proxy = upstream.proxy
            examination.identity = files.certificate.map { certificate in
                IdentitySource(
                    origin: .configuration,
                    files: .pair(certificate: .file(certificate), key: files.key.map { .file($0) })
                )
            }
            examination.tokenKey = files.tokenKey.map {
                .init(path: $0, keyID: files.keyID, teamID: files.teamID)
            }
            return (self.upstreamNames[index], examination)
        }
    }
}

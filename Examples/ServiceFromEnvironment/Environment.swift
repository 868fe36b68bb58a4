import Ferry

/// The settings of the provider, as the environment gives them.
///
/// | variable | what |
/// |---|---|
/// | `APNS_PROTOCOL` | `http2` or `binary`; `http2` if it is not set |
/// | `APNS_HOST`, `APNS_PORT` | the server; over HTTP/2 that of Apple if they are not set |
/// | `APNS_CA` | who may vouch for the server, in PEM form; the system's authorities if it is not set |
/// | `APNS_TOPIC` | the app's bundle ID, for HTTP/2 |
/// | `APNS_KEY`, `APNS_KEY_ID`, `APNS_TEAM_ID` | the key of provider tokens, for HTTP/2 |
/// | `APNS_CERT`, `APNS_CERT_KEY` | certificate and private key, in PEM form; for HTTP/2 in place of the key |
struct Environment {
    private let values: [String: String]

    init(_ values: [String: String]) { self.values = values }

    /// Makes the provider. Everything else in the program is the same for both protocols.
    func makeProvider() throws -> any PushProvider {
        switch self.values["APNS_PROTOCOL"] ?? "http2" {
        case "http2": try self.makeHTTP2Provider()
        case "binary": try self.makeBinaryProvider()
        default: throw Fault(description: "APNS_PROTOCOL must be http2 or binary")
        }
    }

    private func makeHTTP2Provider() throws -> HTTP2Provider {
        var configuration = HTTP2Configuration(
            host: self.values["APNS_HOST"] ?? HTTP2Configuration.productionHost,
            port: try self.port() ?? HTTP2Configuration.defaultPort,
            credentials: try self.http2Credentials(),
            topic: self.values["APNS_TOPIC"],
            outcomes: .discard
        )
        if let roots = self.trustRoots() { configuration.trustRoots = roots }
        return try HTTP2Provider(configuration)
    }

    private func makeBinaryProvider() throws -> BinaryProvider {
        var configuration = BinaryConfiguration(
            host: try self.value("APNS_HOST"),
            port: try self.port() ?? BinaryConfiguration.defaultPort,
            identity: try self.identity(),
            outcomes: .discard
        )
        if let roots = self.trustRoots() { configuration.trustRoots = roots }
        return try BinaryProvider(configuration)
    }

    private func http2Credentials() throws -> HTTP2Configuration.Credentials {
        guard let path = self.values["APNS_KEY"] else { return .certificate(try self.identity()) }
        let (keyID, teamID) = (try self.value("APNS_KEY_ID"), try self.value("APNS_TEAM_ID"))
        return .token(try ProviderTokenSource(key: ES256Key(path: path), keyID: keyID, teamID: teamID))
    }

    private func identity() throws -> TLSIdentity {
        try TLSIdentity(
            certificatePath: self.value("APNS_CERT"),
            privateKeyPath: self.values["APNS_CERT_KEY"] ?? self.value("APNS_CERT")
        )
    }

    private func trustRoots() -> TrustRoots? { self.values["APNS_CA"].map { .file($0) } }

    private func port() throws -> Int? {
        guard let text = self.values["APNS_PORT"] else { return nil }
        guard let port = Int(text) else { throw Fault(description: "APNS_PORT must be a number") }
        return port
    }

    private func value(_ name: String) throws -> String {
        guard let value = self.values[name] else { throw Fault(description: "\(name) is not set") }
        return value
    }

    struct Fault: Error, CustomStringConvertible {
        var description: String
    }
}

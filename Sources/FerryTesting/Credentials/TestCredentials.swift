public import FerryOpenSSL

/// A certificate authority for tests, with a server and a client certificate that it has issued.
///
/// The server certificate is valid for `localhost`, both loopback addresses and Apple's host names of the binary
/// protocol and of HTTP/2. The client certificate resembles Apple's certificates for push. The key signs provider
/// tokens, for providers without a certificate. The credentials protect nothing: use them only in tests.
public struct TestCredentials: Sendable {
    /// The authority that both sides must trust.
    public let trustRoots: TrustRoots
    /// The identity of the server.
    public let server: TLSIdentity
    /// The identity of the provider.
    public let client: TLSIdentity
    /// The key that signs provider tokens.
    public let tokenKey: ES256Key
    /// The identifier of ``tokenKey``: always `FERRYKEY01`.
    public var keyID: String { "FERRYKEY01" }
    /// The identifier of the team that owns ``tokenKey``: always `FERRYTEAM1`.
    public var teamID: String { "FERRYTEAM1" }

    /// Creates new credentials in memory. The type of their keys is fast to generate.
    ///
    /// - Parameter topic: the bundle ID that the client's certificate names.
    /// - Throws: `TLSError` when OpenSSL has no entropy or memory.
    public init(topic: String = "com.example.ferry") throws(TLSError) {
        try self.init(authority: ThrowAwayCA(isStrict: true), topic: topic, key: .p256)
    }

    /// Reads the credentials of a directory, for programs that read credentials from files. Creates directory and files if
    /// there are none.
    ///
    /// | file | what |
    /// |---|---|
    /// | `ca.pem` | the authority's certificate |
    /// | `server.pem`, `server-key.pem` | the server |
    /// | `client.pem`, `client-key.pem` | the provider, with the topic `com.example.ferry` |
    /// | `client.p12`, `client-passphrase.txt` | the provider once more, as PKCS#12 |
    /// | `token-key.p8` | the key that signs provider tokens |
    ///
    /// - Throws: an error that names the missing files if only some are there; `TLSError`; an error of the file system.
    public init(directory: String) throws {
        self = try TLSDirectory.open(directory)
    }

    package init(authority: ThrowAwayCA, topic: String, key: KeyKind) throws(TLSError) {
        self.trustRoots = authority.trustRoots
        self.server = try authority.server(dnsNames: Self.hostNames, key: key)
        self.client = try authority.client(topic: topic, key: key)
        self.tokenKey = try ES256Key.generate()
    }

    package init(trustRoots: TrustRoots, server: TLSIdentity, client: TLSIdentity, tokenKey: ES256Key) {
        self.trustRoots = trustRoots
        self.server = server
        self.client = client
        self.tokenKey = tokenKey
    }

    private static let hostNames = [
        "localhost",
        "gateway.push.apple.com", "gateway.sandbox.push.apple.com",
        "feedback.push.apple.com", "feedback.sandbox.push.apple.com",
        "api.push.apple.com", "api.sandbox.push.apple.com",
    ]
}

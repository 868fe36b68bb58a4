public import FerryOpenSSL

/// A certificate authority for tests, and a server and a client that it vouches for.
///
/// The server is good for `localhost`, both loopback addresses and Apple's host names of the binary protocol and of
/// HTTP/2. The client looks like one of Apple's certificates for push. A key signs provider tokens in place of a
/// certificate. Nothing here has ever been secret.
public struct TestCredentials: Sendable {
    /// What both sides have to trust.
    public let trustRoots: TrustRoots
    /// Who the gateway is.
    public let server: TLSIdentity
    /// Who the provider is.
    public let client: TLSIdentity
    /// What signs provider tokens.
    public let tokenKey: ES256Key
    /// The identifier of ``tokenKey``: always `FERRYKEY01`.
    public var keyID: String { "FERRYKEY01" }
    /// The identifier of the team that has ``tokenKey``: always `FERRYTEAM1`.
    public var teamID: String { "FERRYTEAM1" }

    /// Makes new credentials in memory, with keys that take no time to make.
    ///
    /// - Parameter topic: the bundle ID that the client's certificate names.
    /// - Throws: `TLSError` when OpenSSL has no entropy or memory.
    public init(topic: String = "com.example.ferry") throws(TLSError) {
        try self.init(authority: ThrowAwayCA(), topic: topic, key: .p256)
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

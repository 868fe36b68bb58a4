internal import FerryCore
public import FerryOpenSSL
internal import FerryPlatform

/// A signer of texts in the form of the App Store, with a throw-away chain of certificates.
///
/// Safe from any thread. Signing costs about 30 µs.
public struct AppStoreSigner: Sendable {
    private let chain: ThrowAwaySigningChain
    /// `{"alg":"ES256","x5c":[…]}` in base64url.
    private let header: [UInt8]

    /// - Throws: `TLSError` with `internalFailure`.
    public init() throws(TLSError) { try self.init(ThrowAwaySigningChain(name: Self.chainName)) }

    /// - Parameter root: a kept root, from ``root()``.
    /// - Throws: `TLSError` with `internalFailure`.
    package init(root: TLSIdentity) throws(TLSError) {
        try self.init(ThrowAwaySigningChain(name: Self.chainName, root: root))
    }

    /// Returns a new root that can be kept for signers to come.
    ///
    /// - Throws: `TLSError` with `internalFailure`.
    package static func root() throws(TLSError) -> TLSIdentity {
        try ThrowAwaySigningChain.root(name: self.chainName)
    }

    private static let chainName = "Simulated App Store"

    package init(_ chain: ThrowAwaySigningChain) {
        self.chain = chain
        let certificates = chain.certificates.map { "\"\(Data($0).base64EncodedString())\"" }.joined(separator: ",")
        self.header = Base64URL.encode(Array("{\"alg\":\"ES256\",\"x5c\":[\(certificates)]}".utf8))
    }

    /// The root to trust, as PEM text.
    public var rootPEM: [UInt8] { self.chain.rootPEM }

    /// Signs a payload. The result is a compact JWS: `header.payload.signature`.
    ///
    /// - Throws: `TLSError` with `internalFailure`.
    public func sign(_ payload: [UInt8]) throws(TLSError) -> String {
        let input = self.header + [UInt8(ascii: ".")] + Base64URL.encode(payload)
        let signature = try self.chain.key.sign(input)
        return String(decoding: input + [UInt8(ascii: ".")] + Base64URL.encode(signature), as: UTF8.self)
    }
}

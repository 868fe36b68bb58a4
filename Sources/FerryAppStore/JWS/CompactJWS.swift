internal import FerryCore
internal import FerryPlatform

/// A JSON Web Signature in compact form, as Apple signs (RFC 7515, section 7.1):
///
/// ```
/// base64url(header) "." base64url(payload) "." base64url(r and s, 32 bytes each)
/// header: {"alg":"ES256","x5c":[leaf, intermediate, root]}      each certificate in Base64 of DER
/// ```
///
/// The parts are decoded, but the signature is not verified.
struct CompactJWS {
    /// A reason why a text is not a signature of this form.
    enum Fault: Error, Hashable {
        case notThreeParts
        case notBase64URL
        case headerNotJSON
        /// The algorithm is not ES256.
        case wrongAlgorithm
        /// The header demands an extension (`crit`; RFC 7515, section 4.1.11).
        case criticalExtension
        /// The header has no list of three certificates in Base64.
        case wrongCertificates
        case wrongSignatureLength
    }

    /// The number of certificates in Apple's `x5c`.
    static let certificateCount = 3
    private static let signatureLength = 64

    /// The signed part: header and payload as they were sent, with the dot between them.
    let signingInput: [UInt8]
    let payload: [UInt8]
    let signature: [UInt8]
    /// The certificates in DER form, the signer's first. The third is ignored, because the root is pinned.
    let certificates: [[UInt8]]

    init(_ text: some Collection<UInt8>) throws(Fault) {
        let text = Array(text)
        let dot = UInt8(ascii: ".")
        guard let first = text.firstIndex(of: dot), let last = text.lastIndex(of: dot), first < last,
            !text[first + 1..<last].contains(dot)
        else { throw .notThreeParts }
        guard let header = Base64URL.decode(text[..<first]), let payload = Base64URL.decode(text[first + 1..<last]),
            let signature = Base64URL.decode(text[(last + 1)...])
        else { throw .notBase64URL }
        self.certificates = try Self.certificates(header)
        guard signature.count == Self.signatureLength else { throw .wrongSignatureLength }
        self.signingInput = Array(text[..<last])
        self.payload = payload
        self.signature = signature
    }

    private static func certificates(_ header: [UInt8]) throws(Fault) -> [[UInt8]] {
        guard let header = JSONObject(header) else { throw .headerNotJSON }
        guard header.string("alg") == "ES256" else { throw .wrongAlgorithm }
        guard !header.has("crit") else { throw .criticalExtension }
        guard let texts = header.strings("x5c"), texts.count == self.certificateCount else { throw .wrongCertificates }
        var certificates: [[UInt8]] = []
        for text in texts {
            guard let der = Data(base64Encoded: text), !der.isEmpty else { throw .wrongCertificates }
            certificates.append(Array(der))
        }
        return certificates
    }
}

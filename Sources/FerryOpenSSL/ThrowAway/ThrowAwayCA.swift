internal import CFerryOpenSSL
internal import FerryPlatform

/// A certificate authority in memory, which issues certificates for servers and clients.
///
/// Safe from any thread. Its key is never written, so nobody can issue another certificate after the last reference is
/// dropped. A public authority would protect and keep its key: use this one for tests, and for peers that are known by
/// their fingerprints.
package final class ThrowAwayCA: Sendable {
    /// The period of validity of an issued certificate, relative to now.
    package enum Validity: Sendable {
        /// From an hour ago for a year.
        case current
        /// Ended an hour ago.
        case expired
        /// Begins in an hour.
        case future
        /// From an hour ago for so many days from now.
        case days(Int)

        var seconds: (from: Int, to: Int) {
            switch self {
            case .current: (-3_600, 365 * 86_400)
            case .expired: (-7_200, -3_600)
            case .future: (3_600, 365 * 86_400)
            case .days(let days): (-3_600, days * 86_400)
            }
        }
    }

    private let authority: KeyMaterial
    private let isStrict: Bool

    /// - Parameter isStrict: whether its certificates name the authority's key, as RFC 5280, section 4.2.1.1, demands and
    ///   strict clients such as Python 3.13 check. Without it, only the signature tells apart authorities of one name.
    /// - Throws: ``TLSError`` with `internalFailure`.
    package init(
        name: String = "Ferry throw-away CA",
        key: KeyKind = .p256,
        validity: Validity = .current,
        isStrict: Bool = false
    ) throws(TLSError) {
        self.isStrict = isStrict
        let request = CertificateRequest(subject: [("CN", name)], validity: validity.seconds)
        self.authority = try CertificateIssuer(request).selfSigned(
            generateKey(key),
            extensions: [
                (NID_basic_constraints, "critical,CA:TRUE"), (NID_key_usage, "critical,keyCertSign,cRLSign"),
                (NID_subject_key_identifier, "hash"),
            ]
        )
    }

    /// The authority's certificate as PEM text. The other side must trust it.
    package var certificatePEM: [UInt8] { certificatePEMBytes([self.authority.certificate.pointer]) }

    /// The authority as trust roots.
    package var trustRoots: TrustRoots { .pem(self.certificatePEM) }

    /// Returns an identity for a server.
    ///
    /// - Parameters:
    ///   - dnsNames: alternative names. The first is also the common name.
    ///   - ipAddresses: alternative names that are addresses.
    package func server(
        dnsNames: [String] = ["localhost"],
        ipAddresses: [String] = ["127.0.0.1", "::1"],
        key: KeyKind = .p256,
        validity: Validity = .current
    ) throws(TLSError) -> TLSIdentity {
        let names = dnsNames.map { "DNS:\($0)" } + ipAddresses.map { "IP:\($0)" }
        let request = CertificateRequest(
            subject: [("CN", Self.commonName(dnsNames.first ?? ipAddresses.first ?? "server"))],
            validity: validity.seconds
        )
        var extensions = [(NID_ext_key_usage, "serverAuth")]
        if !names.isEmpty { extensions.append((NID_subject_alt_name, names.joined(separator: ","))) }
        return try self.issue(request, key: key, extensions: extensions)
    }

    /// Returns an identity for a client, like those that Apple issues for push: the topic as UID, and Apple's
    /// extensions.
    ///
    /// - Parameters:
    ///   - environments: the environments that the marking extensions name; empty for a certificate unlike Apple's.
    ///   - topics: the list of topics; empty for the older kind without a list.
    package func client(
        topic: String = "com.example.ferry",
        environments: Set<CertificateSummary.Environment> = [.sandbox, .production],
        topics: [CertificateSummary.Topic] = [],
        key: KeyKind = .p256,
        validity: Validity = .current
    ) throws(TLSError) -> TLSIdentity {
        var request = CertificateRequest(
            subject: [("UID", topic), ("CN", Self.commonName("Apple Push Services: \(topic)"))],
            validity: validity.seconds
        )
        let null: [UInt8] = [0x05, 0x00]
        var marks: [(kind: ApplePushExtension, value: [UInt8])] = []
        if environments.contains(.sandbox) { marks.append((.sandbox, null)) }
        if environments.contains(.production) { marks.append((.production, null)) }
        if !topics.isEmpty { marks.append((.topics, appleTopicsDER(topics))) }
        request.rawExtensions = marks.map { ($0.kind.rawValue, $0.value) }
        return try self.issue(request, key: key, extensions: [(NID_ext_key_usage, "clientAuth")])
    }

    /// Returns an identity for a server that no authority has signed.
    package static func selfSigned(dnsNames: [String] = ["localhost"]) throws(TLSError) -> TLSIdentity {
        let request = CertificateRequest(
            subject: [("CN", dnsNames.first ?? "server")],
            validity: Validity.current.seconds
        )
        let names = dnsNames.map { "DNS:\($0)" }.joined(separator: ",")
        let material = try CertificateIssuer(request).selfSigned(
            generateKey(.p256),
            extensions: [(NID_subject_alt_name, names)]
        )
        return try TLSIdentity(material)
    }

    private func issue(
        _ request: CertificateRequest,
        key: KeyKind,
        extensions: [(Int32, String)]
    ) throws(TLSError) -> TLSIdentity {
        // A client without ephemeral keys encrypts the session's secret with the server's RSA key.
        let usage = key == .p256 ? "critical,digitalSignature" : "critical,digitalSignature,keyEncipherment"
        let identifiers = [(NID_subject_key_identifier, "hash"), (NID_authority_key_identifier, "keyid:always")]
        let material = try CertificateIssuer(request).issued(
            by: self.authority,
            to: generateKey(key),
            extensions: [(NID_basic_constraints, "critical,CA:FALSE"), (NID_key_usage, usage)] + extensions
                + (self.isStrict ? identifiers : [])
        )
        return try TLSIdentity(material)
    }

    /// Shortens a name to the 64 characters that RFC 5280 allows (`ub-common-name`). OpenSSL refuses longer ones.
    private static func commonName(_ name: String) -> String { String(name.prefix(64)) }
}

internal import FerryCore
public import FerryPlatform

/// The facts in a certificate that matter to push services.
///
/// Its names are safe for a person's terminal: a control character or an invisible one is written as an escape such as
/// `\u{1B}`.
public struct CertificateSummary: Sendable, Hashable {
    /// An APNs environment that a certificate is valid for.
    @nonexhaustive
    public enum Environment: String, Sendable, Hashable, CaseIterable {
        case sandbox
        case production
    }

    /// A topic that a certificate may send to.
    public struct Topic: Sendable, Hashable {
        /// The topic, such as "com.example.app.voip".
        public var name: String
        /// The uses of the topic, in Apple's words: "app", "voip", "complication" and so on; may be empty.
        public var kinds: [String]

        /// Creates a topic as the certificate has it. Nothing is checked.
        public init(name: String, kinds: [String]) {
            self.name = name
            self.kinds = kinds
        }
    }

    /// The subject in the form of RFC 2253.
    public let subject: String
    /// The issuer in the form of RFC 2253.
    public let issuer: String
    /// The subject's common name (CN).
    public let commonName: String?
    /// The subject's user ID (UID): in a push certificate the topic.
    public let userID: String?
    /// The DNS names among the subject's alternative names.
    public let dnsNames: [String]
    /// The IP addresses among the subject's alternative names, in text form.
    public let ipAddresses: [String]
    /// The first moment of validity.
    public let notBefore: Date
    /// The last moment of validity.
    public let notAfter: Date
    /// The kind of the public key, such as "RSA 2048" or "prime256v1".
    public let keyKind: String
    /// SHA-256 of the certificate: 32 bytes. Identifies the certificate.
    public let fingerprint: [UInt8]
    /// The object identifiers of Apple's push extensions (1.2.840.113635.100.6.3.*) that the certificate carries.
    public let pushExtensions: [String]
    /// The environments that Apple's extensions name; empty if the certificate is not Apple's.
    public let environments: Set<Environment>
    /// The topics: Apple's list if there is one, otherwise the ``userID``.
    public let topics: [Topic]

    /// Whether the certificate is signed with its own key.
    package let isSelfSigned: Bool
    /// Whether its key usages, if it has any, allow a client to use it.
    package let isForClients: Bool

    /// Reads a certificate in PEM or DER form. Of a PEM chain it reads the first certificate.
    ///
    /// - Throws: ``TLSError`` with `noCertificate` or `malformed`.
    public init(certificate bytes: [UInt8]) throws(TLSError) {
        let certificates = try PEM.certificates(bytes, source: "the text")
        try self.init(certificates.element(0))
    }

    init(_ certificate: OpaquePointer) throws(TLSError) {
        let reader = CertificateReader(certificate)
        guard let notBefore = reader.notBefore, let notAfter = reader.notAfter else {
            throw TLSError(.malformed, "The certificate has no readable period of validity.")
        }
        self.subject = reader.subject
        self.issuer = reader.issuer
        self.commonName = reader.commonName
        self.userID = reader.userID
        (self.dnsNames, self.ipAddresses) = reader.alternativeNames
        self.notBefore = Date(timeIntervalSince1970: Double(notBefore))
        self.notAfter = Date(timeIntervalSince1970: Double(notAfter))
        self.keyKind = reader.keyKind
        self.fingerprint = reader.fingerprint
        self.isSelfSigned = reader.isSelfSigned
        self.isForClients = reader.isForClients
        var extensions: [ApplePushExtension: [UInt8]] = [:]
        for kind in ApplePushExtension.allCases {
            extensions[kind] = reader.extensionValue(oid: kind.rawValue)
        }
        self.pushExtensions = ApplePushExtension.allCases.filter { extensions[$0] != nil }.map(\.rawValue)
        var environments: Set<Environment> = []
        if extensions[.sandbox] != nil { environments.insert(.sandbox) }
        if extensions[.production] != nil { environments.insert(.production) }
        self.environments = environments
        let listed = extensions[.topics].map(appleTopics) ?? []
        let single = self.userID.map { [Topic(name: $0, kinds: [])] } ?? []
        self.topics = listed.isEmpty ? single : listed
    }

    /// ``fingerprint`` as 64 lower-case hexadecimal digits.
    public var fingerprintHex: String { self.fingerprint.hexadecimal }
}

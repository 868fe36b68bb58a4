internal import FerryCore
package import FerryOpenSSL

/// The clients of a listener, and the signs by which each is recognized.
package struct GatewayClients: Sendable {
    /// The sign by which a client is recognized.
    package enum Sign: Hashable, Sendable {
        /// The SHA-256 fingerprints of the client's certificates. The chain and the dates of a certificate do not
        /// matter. Apple's certificates last a year, and nobody can renew them for a gateway.
        case fingerprints(Set<[UInt8]>)
        /// The user ID in the subject of the client's certificate. The user ID counts only if the authorities of the
        /// listener signed the certificate, because anybody can make a certificate with this user ID.
        case userID(String)
        /// Any client, with or without a certificate. The configuration allows this sign only for a listener on the
        /// loopback address.
        case anyone
    }

    /// The signs, each with the number of the identity in the configuration. The first sign that matches decides.
    private let signs: [(sign: Sign, identity: Int)]
    private let trustRoots: TrustRoots?
    /// The fingerprints of the authorities' certificates.
    let authorities: Set<[UInt8]>
    private let refused = RefusedCertificate()

    /// - Parameters:
    ///   - trustRoots: the authorities for ``Sign/userID(_:)``.
    ///   - authorities: the SHA-256 fingerprints of the authorities' certificates. After a reload, the user ID of an
    ///     open connection still counts if all fingerprints by which its chain was verified are still here.
    package init(
        _ signs: [(sign: Sign, identity: Int)],
        trustRoots: TrustRoots? = nil,
        authorities: Set<[UInt8]> = []
    ) {
        self.signs = signs
        self.trustRoots = trustRoots
        self.authorities = authorities
    }

    /// The same clients with other numbers.
    ///
    /// - Parameter numbers: the new number of each identity, by its present number.
    func renumbered(_ numbers: [Int]) -> GatewayClients {
        GatewayClients(
            self.signs.map { ($0.sign, numbers[$0.identity]) },
            trustRoots: self.trustRoots,
            authorities: self.authorities
        )
    }

    /// The sign that a connection has shown. The handler keeps it, because a reload judges open connections again.
    struct Shown: Sendable {
        fileprivate var fingerprint: [UInt8]?
        fileprivate var userID: String?
        /// The authorities by which the chain was verified; nil if the chain was not verified.
        fileprivate var verifiers: Set<[UInt8]>?
    }

    func shown(_ certificate: CertificateSummary?, _ isChainVerified: Bool) -> Shown {
        Shown(
            fingerprint: certificate?.fingerprint,
            userID: certificate?.userID,
            verifiers: isChainVerified ? self.authorities : nil
        )
    }

    /// The number of the identity of a connection that has shown this sign; nil if the connection is no longer allowed.
    func identity(of shown: Shown) -> Int? {
        let isVerified = shown.verifiers?.isSubset(of: self.authorities) ?? false
        return self.identity(shown.fingerprint, shown.userID, isVerified)
    }

    /// Whether a client may come without a certificate.
    package var takesAnyone: Bool {
        self.signs.contains { if case .anyone = $0.sign { true } else { false } }
    }

    /// The identity of every client, if no certificate has to decide; otherwise nil.
    var onlyIdentity: Int? { self.takesAnyone && self.signs.count == 1 ? self.signs.first?.identity : nil }

    /// Whether this user ID names a client, even if no authority of the listener signed the certificate.
    private func names(_ userID: String?) -> Bool {
        self.signs.contains { if case .userID(let known) = $0.sign { known == userID } else { false } }
    }

    /// The number of the client's identity; nil if the client is a stranger.
    func identity(of certificate: CertificateSummary?, _ isChainVerified: Bool) -> Int? {
        self.identity(certificate?.fingerprint, certificate?.userID, isChainVerified)
    }

    private func identity(_ fingerprint: [UInt8]?, _ userID: String?, _ isChainVerified: Bool) -> Int? {
        self.signs.first { sign, _ in
            switch sign {
            case .fingerprints(let fingerprints): fingerprint.map { fingerprints.contains($0) } ?? false
            case .userID(let known): isChainVerified && userID == known
            case .anyone: true
            }
        }?.identity
    }

    /// The demand of the handshake for a client's certificate. If any client may come, no certificate is judged.
    ///
    /// - Parameter admits: whether an identity is served now. The closure runs on the event loop, in the middle of the
    ///   handshake.
    func certificates(
        admits: @escaping @Sendable (_ identity: Int) -> Bool = { _ in true }
    ) -> TLSContext.ClientCertificates {
        guard !self.takesAnyone else { return .requested }
        return .judged(self.trustRoots) { certificate, finding in
            guard let identity = self.identity(of: certificate, finding == nil) else {
                self.refused.note(certificate, self.names(certificate.userID) ? finding : nil)
                return .refused
            }
            return admits(identity) ? .accepted : .notNow
        }
    }

    /// Removes and returns a sentence about the last refused certificate.
    func takeRefused() -> String? { self.refused.take() }
}

/// The certificate that a handshake has just refused. TLS does not keep the certificate, and an operator needs its
/// fingerprint.
private final class RefusedCertificate: Sendable {
    private let last = Locked<String?>(nil)

    /// - Parameter finding: the reason why the certificate is refused although its user ID is known.
    func note(_ certificate: CertificateSummary, _ finding: ChainFinding?) {
        let words = RefusalWords.of(certificate, finding)
        self.last.withLock { $0 = words }
    }

    func take() -> String? { self.last.withLock { $0.take() } }
}

/// How far a client or a server goes back for old peers.
@nonexhaustive
public enum TLSProfile: Sendable, Hashable, CaseIterable {
    /// TLS 1.2 and later, with the cipher suites and the security level of the system's policy (`openssl.cnf`).
    case modern
    /// Down to TLS 1.0 at OpenSSL's security level 0, whatever the system's policy says: all cipher suites that OpenSSL
    /// has, signatures with SHA-1, RSA keys of 1024 bits, and servers without secure renegotiation (RFC 5746).
    ///
    /// Whoever is on the way may read and change what is sent. Only for a peer that cannot be renewed.
    case legacy

    /// The oldest version that the profile speaks.
    package var minimum: TLSVersion { self == .legacy ? .tls10 : .tls12 }

    /// The versions to speak where `range` is configured.
    package func widened(_ range: ClosedRange<TLSVersion>) -> ClosedRange<TLSVersion> {
        self == .legacy ? min(range.lowerBound, self.minimum)...range.upperBound : range
    }
}

/// The compatibility of a client or a server with old peers.
@nonexhaustive
public enum TLSProfile: Sendable, Hashable, CaseIterable {
    /// TLS 1.2 and later, with the cipher suites and the security level of the system's policy (`openssl.cnf`).
    case modern
    /// TLS 1.0 and later at OpenSSL's security level 0, regardless of the system's policy: all cipher suites of
    /// OpenSSL, signatures with SHA-1, RSA keys of 1024 bits, and servers without secure renegotiation (RFC 5746).
    ///
    /// An attacker on the way may read and change the bytes. Only for a peer that cannot be renewed.
    case legacy

    /// The oldest version that the profile speaks.
    package var minimum: TLSVersion { self == .legacy ? .tls10 : .tls12 }

    /// Returns the versions to speak if `range` is configured.
    package func widened(_ range: ClosedRange<TLSVersion>) -> ClosedRange<TLSVersion> {
        self == .legacy ? min(range.lowerBound, self.minimum)...range.upperBound : range
    }
}

internal import CFerryOpenSSL

/// A version of TLS. SSL 3 and older are not supported.
@nonexhaustive
public enum TLSVersion: Sendable, Hashable, Comparable, CaseIterable {
    /// TLS 1.0, for peers that know no newer version; implies ``TLSProfile/legacy``.
    case tls10
    /// TLS 1.1; implies ``TLSProfile/legacy``.
    case tls11
    /// TLS 1.2
    case tls12
    /// TLS 1.3
    case tls13

    var code: Int32 {
        switch self {
        case .tls10: TLS1_VERSION
        case .tls11: TLS1_1_VERSION
        case .tls12: TLS1_2_VERSION
        case .tls13: TLS1_3_VERSION
        }
    }

    init?(code: Int32) {
        guard let version = Self.allCases.first(where: { $0.code == code }) else { return nil }
        self = version
    }
}

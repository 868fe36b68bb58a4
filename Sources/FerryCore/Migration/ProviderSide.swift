/// One of the two protocols of a provider that moves from one to the other.
public enum ProviderSide: String, Sendable, Hashable, CaseIterable {
    /// The binary protocol.
    case binary
    /// HTTP/2.
    case http2

    /// The other protocol.
    public var other: ProviderSide {
        switch self {
        case .binary: .http2
        case .http2: .binary
        }
    }
}

extension ProviderSide: CustomStringConvertible {
    /// The protocol's name: "HTTP/2".
    public var description: String {
        switch self {
        case .binary: "the binary protocol"
        case .http2: "HTTP/2"
        }
    }
}

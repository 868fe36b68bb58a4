internal import FerryPlatform
internal import FerryTerminal

/// A name in a server's certificate.
enum CertificateName: Hashable {
    case dns(String)
    case ip(String)

    /// - Parameter text: a text for which ``isOne(_:)`` is true.
    init(_ text: String) {
        // Certificates do not have the dot that ends a fully qualified name.
        self = Self.isAddress(text) ? .ip(text) : .dns(text.hasSuffix(".") ? String(text.dropLast()) : text)
    }

    /// Whether a certificate can name this host. It cannot name an address with a zone, as in `fe80::1%eth0`.
    static func isOne(_ text: String) -> Bool {
        HostName.isOne(text) && (self.isAddress(text) || !text.contains(":"))
    }

    /// The length of an IPv6 address in bytes.
    private static let longestAddress = 16

    private static func isAddress(_ text: String) -> Bool {
        var bytes = [UInt8](repeating: 0, count: self.longestAddress)
        return inet_pton(AF_INET, text, &bytes) == 1 || inet_pton(AF_INET6, text, &bytes) == 1
    }
}

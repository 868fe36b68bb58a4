internal import FerryPlatform

/// The address that notifications are posted to.
struct PostTarget: Hashable, Sendable {
    let isSecure: Bool
    /// A name or an address, without brackets.
    let host: String
    let port: Int
    /// The path with its query, as the request names it.
    let path: String

    /// Nil when `text` is not an address of HTTP or HTTPS.
    init?(_ text: String) {
        guard let parts = URLComponents(string: text), let scheme = parts.scheme?.lowercased(),
            ["http", "https"].contains(scheme), let host = parts.encodedHost, !host.isEmpty
        else { return nil }
        self.isSecure = scheme == "https"
        self.host = host.hasPrefix("[") ? String(host.dropFirst().dropLast()) : host
        self.port = parts.port ?? (self.isSecure ? 443 : 80)
        let path = parts.percentEncodedPath.isEmpty ? "/" : parts.percentEncodedPath
        self.path = path + (parts.percentEncodedQuery.map { "?\($0)" } ?? "")
    }

    /// `Host` (RFC 9110, section 7.2).
    var hostField: String {
        let name = self.host.contains(":") ? "[\(self.host)]" : self.host
        return self.port == (self.isSecure ? 443 : 80) ? name : "\(name):\(self.port)"
    }

    /// Whether `location` of a redirect leads here again.
    func isSame(as location: String) -> Bool { location == self.path || PostTarget(location) == self }
}

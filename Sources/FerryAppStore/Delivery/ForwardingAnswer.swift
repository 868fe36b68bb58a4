internal import FerryHTTP1
internal import NIOHTTP1

/// An answer that does not count as delivered, with a text for an operator. The path and query of a URL may be secret,
/// so the text does not contain them.
struct ForwardingAnswer {
    var url: HTTPURL
    var status: Int
    /// The value of the field `Location`.
    var location: String?
    /// Whether a secret signed the request.
    var isSigned: Bool

    init(_ response: HTTPClientResponse, of url: HTTPURL, isSigned: Bool) {
        self.url = url
        self.status = response.status
        self.location = response.headers.first(name: "Location")
        self.isSigned = isSigned
    }

    var sentence: String {
        switch self.status {
        case 301, 302, 303, 307, 308:
            "\(self.url) answered \(self.status) and redirects to \(self.target), which is not followed: name the URL at the end"
        case 401, 403:
            "\(self.url) answered \(self.status) and refuses what is forwarded: look at "
                + (self.isSigned ? "the secret that it checks the signature with, and at " : "")
                + "a login, a check of CSRF tokens or a firewall in front of it"
        default: "\(self.url) answered \(self.status)"
        }
    }

    /// The target of a redirection in words, without path and query.
    private var target: String {
        guard let location else { return "no place (it has no Location)" }
        if location.hasPrefix("/"), !location.hasPrefix("//") { return "another path there" }
        let text = location.hasPrefix("//") ? "\(self.url.scheme.rawValue):\(location)" : location
        let isURL = text.contains("://")
        guard isURL, let target = try? HTTPURL(String(text.prefix { $0 != "#" })) else {
            return isURL ? "a place that cannot be read" : "another path there"
        }
        guard target.origin == self.url.origin else { return "\(target)" }
        let isSlash = target.target == self.url.target + "/" || target.target + "/" == self.url.target
        return isSlash ? "the same URL with or without the slash at its end" : "another path there"
    }
}

internal import FerryCore
internal import FerryHTTP1
internal import FerryTerminal
internal import NIOHTTP1

/// The check of a redirect. Apple counts a redirect as a failure, so its target must be entered in place of the URL.
enum RedirectCheck {
    static func finding(_ response: HTTPClientResponse, to url: HTTPURL) -> Finding {
        let status = response.status
        guard let location = response.headers.first(name: "Location") else {
            return .fault(
                .answer,
                .redirect,
                "It answers with a redirect (\(status)) that names no target, and Apple needs 200.",
                cure: "have it answer posts itself"
            )
        }
        guard let target = url.resolved(location) else {
            return .fault(
                .answer,
                .redirect,
                "It redirects (\(status)) to something that is no URL, and Apple does not follow.",
                cure: "have it answer posts to this URL itself"
            )
        }
        return .fault(
            .answer,
            .redirect,
            "It redirects (\(status)) \(self.difference(target, url)): \(self.text(target)). Apple does not follow, so no "
                + "notification arrives.",
            cure: self.cure(target, url)
        )
    }

    /// Returns the URL without its query, which may hold a secret.
    static func text(_ url: HTTPURL) -> String {
        let path = url.target.prefix { $0 != "?" }
        return "\(url)\(path)\(path.endIndex < url.target.endIndex ? "?…" : "")".printable
    }

    private static func difference(_ target: HTTPURL, _ url: HTTPURL) -> String {
        if target == url { return "to itself" }
        if self.isLogin(target) { return "to a page for logging in" }
        if url.scheme == .https, target.scheme == .http { return "from HTTPS to HTTP" }
        var parts: [String] = []
        if url.scheme != target.scheme { parts.append("to HTTPS") }
        if url.host != target.host { parts.append("to another host") }
        if url.scheme == target.scheme, url.host == target.host, url.port != target.port {
            parts.append("to another port")
        }
        if url.target != target.target { parts.append(self.difference(target.target, url.target)) }
        return parts.isEmpty ? "to the same path" : parts.listed
    }

    private static func difference(_ target: String, _ own: String) -> String {
        if target == "\(own)/" { return "to the path with a slash at its end" }
        if "\(target)/" == own { return "to the path without the slash at its end" }
        return "to another path"
    }

    private static func cure(_ target: HTTPURL, _ url: HTTPURL) -> String {
        if target == url { return "find what sends it there, often a cookie or a filter, and exempt this path" }
        if self.isLogin(target) {
            return "exempt the path from logging in: the signature of a notification is its proof"
        }
        if target.scheme == .http {
            return "have it answer posts to this URL itself: behind a proxy, tell the application that the client used "
                + "HTTPS (X-Forwarded-Proto)"
        }
        return "enter \(self.text(target)) in App Store Connect, after another ferry doctor with it, or have the "
            + "server answer posts to this URL itself"
    }

    private static func isLogin(_ url: HTTPURL) -> Bool {
        let path = url.target.prefix { $0 != "?" }.lowercased()
        return ["login", "signin", "sign_in", "sign-in", "/sso", "/oauth"].contains { path.contains($0) }
    }
}

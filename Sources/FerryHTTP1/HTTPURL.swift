internal import NIOCore

/// An address of HTTP: scheme, host, port, path and query.
///
/// Its description shows scheme, host and port only, because path and query may hold secrets.
package struct HTTPURL: Hashable, Sendable, CustomStringConvertible {
    package enum Scheme: String, Sendable {
        case http
        case https

        /// The port of an address that names no port (RFC 9110, section 4.2).
        package var defaultPort: Int { self == .http ? 80 : 443 }
    }

    /// The reason why a text is no such address. The description quotes no part of the text.
    package struct Fault: Error, Hashable, Sendable, CustomStringConvertible {
        package let description: String
    }

    /// The server to which connections go. Two addresses with equal origins can share a connection.
    package struct Origin: Hashable, Sendable {
        package var scheme: Scheme
        /// The host in lower case, and without brackets.
        package var host: String
        package var port: Int
        /// The path of a socket in the file system (AF_UNIX) in place of host and port.
        package var socketPath: String?
    }

    package let origin: Origin
    /// The path and the query as the client sends them. The first character is a slash.
    package let target: String

    package var scheme: Scheme { self.origin.scheme }
    package var host: String { self.origin.host }
    package var port: Int { self.origin.port }

    private init(_ origin: Origin, target: String) {
        self.origin = origin
        self.target = target
    }

    /// The root of a server that listens on a socket in the file system.
    package init(socketPath: String) {
        self.init(Origin(scheme: .http, host: "localhost", port: 80, socketPath: socketPath), target: "/")
    }

    /// Reads an address such as `https://host.example:8443/path?query`.
    package init(_ text: String) throws(Fault) {
        guard text.utf8.allSatisfy({ 0x21...0x7e ~= $0 }) else {
            throw Fault(description: "The URL has characters outside of ASCII, or spaces: encode them with %.")
        }
        guard let mark = text.firstRange(of: "://"),
            let scheme = Scheme(rawValue: text[..<mark.lowerBound].lowercased())
        else { throw Fault(description: "The URL begins with neither https:// nor http://.") }
        let rest = text[mark.upperBound...]
        let authority = rest.prefix { !"/?#".contains($0) }
        let target = rest[authority.endIndex...]
        guard !authority.contains("@") else {
            throw Fault(description: "The URL holds a user or a password: take them out, up to and with the @.")
        }
        guard !target.contains("#") else {
            throw Fault(description: "The URL has a fragment (#), which is never sent: take it out.")
        }
        guard target.utf8.allSatisfy(Self.isOfTarget) else {
            throw Fault(description: "The URL's path or query has characters that must be encoded with %.")
        }
        self.target = target.hasPrefix("/") ? String(target) : "/\(target)"
        let (host, port) = try Self.split(authority)
        self.origin = Origin(scheme: scheme, host: host, port: port ?? scheme.defaultPort)
    }

    /// Divides `host`, `host:port`, `[address]` or `[address]:port`.
    private static func split(_ authority: Substring) throws(Fault) -> (String, Int?) {
        guard authority.hasPrefix("[") else {
            let parts = authority.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
            guard let host = parts.first, !host.isEmpty else { throw Fault(description: "The URL has no host.") }
            guard host.utf8.allSatisfy(self.isOfName) else {
                throw Fault(description: "The URL's host is not a name of letters, digits, points and hyphens.")
            }
            return (host.lowercased(), try parts.count > 1 ? self.port(parts[1]) : nil)
        }
        let inner = authority.dropFirst().prefix { $0 != "]" }
        let rest = authority[inner.endIndex...].dropFirst()
        guard inner.contains(":"), inner.utf8.allSatisfy({ $0 != UInt8(ascii: "%") }),
            (try? SocketAddress(ipAddress: String(inner), port: 0)) != nil, inner.endIndex < authority.endIndex
        else { throw Fault(description: "The URL's host in brackets is not an address of IPv6.") }
        guard rest.isEmpty || rest.hasPrefix(":") else {
            throw Fault(description: "The URL has characters between the address and the port.")
        }
        return (inner.lowercased(), try rest.isEmpty ? nil : self.port(rest.dropFirst()))
    }

    private static func port(_ text: Substring) throws(Fault) -> Int {
        guard text.utf8.allSatisfy({ UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 }), let port = Int(text),
            1...65_535 ~= port
        else { throw Fault(description: "The URL's port is not 1 to 65535.") }
        return port
    }

    private static func isOfName(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"):
            true
        default: false
        }
    }

    /// Whether a target may have this printable character. RFC 3986 wants the other printable characters encoded.
    private static func isOfTarget(_ byte: UInt8) -> Bool { !#""<>\^`{|}"#.utf8.contains(byte) }

    /// Returns the address of another path and query on the same origin. `target` begins with a slash.
    package func with(target: String) throws(Fault) -> HTTPURL {
        guard target.hasPrefix("/"), target.utf8.allSatisfy({ 0x21...0x7e ~= $0 && Self.isOfTarget($0) }),
            !target.contains("#")
        else { throw Fault(description: "The path or query has characters that must be encoded with %.") }
        return HTTPURL(self.origin, target: target)
    }

    /// Resolves the value of `Location` (RFC 9110, section 10.2.2); nil if the result is no URL of HTTP.
    package func resolved(_ location: String) -> HTTPURL? {
        let text = String(location.prefix { $0 != "#" })
        if text.hasPrefix("//") { return try? HTTPURL("\(self.scheme.rawValue):\(text)") }
        if text.hasPrefix("/") { return try? self.with(target: text) }
        let path = self.target.prefix { $0 != "?" }
        if text.hasPrefix("?") { return try? self.with(target: path + text) }
        if text.contains("://") { return try? HTTPURL(text) }
        // The guard refuses other schemes, such as mailto (RFC 3986, section 4.2).
        guard !text.isEmpty, !text.prefix(while: { $0 != "/" }).contains(":"), let slash = path.lastIndex(of: "/")
        else { return nil }
        return try? self.with(target: path[...slash] + text)
    }

    /// Encodes a part of a path or query: all bytes but the unreserved characters of RFC 3986, section 2.3.
    package static func encoded(_ part: String) -> String {
        var text = ""
        for byte in part.utf8 {
            if self.isOfName(byte) || byte == UInt8(ascii: "~") {
                text.unicodeScalars.append(Unicode.Scalar(byte))
            } else {
                let digits = String(byte, radix: 16, uppercase: true)
                text += digits.utf8.count == 1 ? "%0\(digits)" : "%\(digits)"
            }
        }
        return text
    }

    package var description: String { "\(self.scheme.rawValue)://\(self.origin.hostField)" }
}

extension HTTPURL.Origin {
    private var bracketed: String { self.host.contains(":") ? "[\(self.host)]" : self.host }

    /// The value of the field `Host` (RFC 9110, section 7.2): the port only where it is not the scheme's own.
    package var hostField: String {
        self.port == self.scheme.defaultPort ? self.bracketed : "\(self.bracketed):\(self.port)"
    }

    /// Host and port, or the path of the socket, for messages.
    package var inWords: String { self.socketPath ?? "\(self.bracketed):\(self.port)" }
}

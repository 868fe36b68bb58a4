/// The reason why a text names no usable proxy. Of the text, which may hold a password, the sentence quotes at most
/// host and port of the proxy.
package struct ProxyAddressFault: Error, Equatable, Sendable, CustomStringConvertible {
    package let description: String

    init(_ description: String) { self.description = description }
}

extension HTTPProxy {
    /// Reads an address of an option: `HOST:PORT`, or `[ADDRESS]:PORT` for an IPv6 address. Returns nil for any other
    /// form.
    package init?(address: String, userName: String? = nil, password: String? = nil) {
        guard let (host, port) = Self.hostAndPort(address[...]) else { return nil }
        self.init(host: host, port: port, userName: userName, password: password)
    }

    /// Reads an address of a variable: `http://USER:PASSWORD@HOST:PORT`. Scheme, user name and password may be
    /// missing. User name and password may be percent-encoded. A path is ignored.
    init(variable name: String, value: String) throws(ProxyAddressFault) {
        var rest = value[...]
        if let mark = rest.firstRange(of: "://") {
            guard rest[..<mark.lowerBound].lowercased() == "http" else {
                throw ProxyAddressFault(
                    "\(name) names a proxy of another kind than http://, which Ferry does not speak: name another one with "
                        + "the option 'proxy', or put the host of the server into NO_PROXY."
                )
            }
            rest = rest[mark.upperBound...]
        }
        rest = rest.prefix { !"/?#".contains($0) }
        var userName: String?
        var password: String?
        if let at = rest.lastIndex(of: "@") {
            let parts = rest[..<at].split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
            userName = Self.decoded(parts[0])
            password = parts.count > 1 ? Self.decoded(parts[1]) : nil
            rest = rest[rest.index(after: at)...]
        }
        guard let (host, port) = Self.hostAndPort(rest) else {
            throw ProxyAddressFault(
                "\(name) is not http://HOST:PORT, with user name and password before an @ if the proxy wants them."
            )
        }
        self.init(host: host, port: port, userName: userName, password: password)
        // The fault names only host and port of the proxy, and no password.
        if let fault = self.fault(connectingTo: host) { throw ProxyAddressFault("\(name): \(fault)") }
    }

    /// Returns the text with a byte in place of each `%` and its two hex digits (RFC 3986, section 2.1).
    private static func decoded(_ text: Substring) -> String {
        var bytes: [UInt8] = []
        var rest = text.utf8[...]
        while let byte = rest.popFirst() {
            let digits = rest.prefix(2)
            if byte == UInt8(ascii: "%"), digits.count == 2,
                let value = UInt8(String(decoding: digits, as: UTF8.self), radix: 16)
            {
                bytes.append(value)
                rest = rest.dropFirst(2)
            } else {
                bytes.append(byte)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    private static func hostAndPort(_ text: Substring) -> (host: String, port: Int)? {
        guard let colon = text.lastIndex(of: ":"), let port = UInt16(text[text.index(after: colon)...]), port > 0 else {
            return nil
        }
        var host = text[..<colon]
        if host.first == "[" {
            guard host.last == "]" else { return nil }
            host = host.dropFirst().dropLast()
        } else if host.contains(":") {
            return nil
        }
        guard !host.isEmpty, host.utf8.allSatisfy({ 0x21...0x7e ~= $0 }), !host.contains(where: { "/@[]".contains($0) })
        else { return nil }
        return (String(host), Int(port))
    }
}

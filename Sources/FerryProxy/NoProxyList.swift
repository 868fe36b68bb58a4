internal import FerryPlatform

/// The hosts that are reached without a proxy, as the variable `NO_PROXY` lists them.
///
/// No standard describes the list, so it has the meaning that curl documents ("NO_PROXY" in curl(1),
/// CURLOPT_NOPROXY(3)):
///
/// * Commas or blanks separate the names.
/// * A name matches itself and every host below it. `example.com` matches `www.example.com`, and not `badexample.com`.
///   Case, a dot before it and a dot behind it do not matter.
/// * An address matches itself. `10.0.0.0/8` matches each address that begins with these 8 bits. An IPv6 address has no
///   brackets. A name is not resolved for this.
/// * A single `*` as the whole list matches every host.
/// * The port of the host does not matter.
package struct NoProxyList: Equatable, Sendable {
    private enum Hosts: Equatable, Sendable {
        case all
        case these([Entry])
    }

    private enum Entry: Equatable, Sendable {
        /// A name in lower case, without a dot before it and behind it.
        case domain(String)
        case network(IPNetwork)
    }

    private let hosts: Hosts

    /// - Parameter text: the value of the variable.
    package init(_ text: String) {
        let names = text.split { $0 == "," || $0.isWhitespace }
        self.hosts = names == ["*"] ? .all : .these(names.compactMap { Self.entry($0) })
    }

    /// Whether a host is reached without a proxy.
    ///
    /// - Parameter host: a name, or an address without brackets.
    package func contains(_ host: String) -> Bool {
        guard case .these(let entries) = self.hosts else { return true }
        let address = IPNetwork.address(host)
        let name = Self.name(host[...])
        return entries.contains { entry in
            switch entry {
            case .domain(let domain): address == nil && (name == domain || name.hasSuffix(".\(domain)"))
            case .network(let network): address.map { network.contains($0) } ?? false
            }
        }
    }

    /// Returns an entry; nil if it can match no host.
    private static func entry(_ text: Substring) -> Entry? {
        if let network = IPNetwork(text) { return .network(network) }
        // A name has no slash, so this is a network with a wrong number of bits.
        guard !text.contains("/") else { return nil }
        let name = self.name(text)
        return name.isEmpty ? nil : .domain(name)
    }

    /// Returns the name in lower case, without a dot before it and behind it.
    private static func name(_ text: Substring) -> String {
        var name = text
        if name.last == "." { name.removeLast() }
        if name.first == "." { name.removeFirst() }
        return name.lowercased()
    }
}

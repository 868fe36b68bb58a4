/// The differences between two configurations of a gateway.
package struct GatewayChange: Hashable, Codable, Sendable {
    /// The names that were added, removed or changed.
    package struct Names: Hashable, Codable, Sendable {
        package var added: [String] = []
        package var removed: [String] = []
        package var changed: [String] = []

        package init() {}

        package var isEmpty: Bool { self.added.isEmpty && self.removed.isEmpty && self.changed.isEmpty }
    }

    package var clients = Names()
    package var upstreams = Names()
    /// The addresses of listeners. A listener has changed if it shows another certificate, trusts other authorities or
    /// proxies, or has other server names or another TLS profile. Added or removed clients are no change of their
    /// listener.
    package var listeners = Names()
    /// The numbers of the upstreams that get another provider.
    package var replaced: Set<Int> = []
    /// The numbers of the clients that were removed.
    package var removed: [Int] = []
    /// The numbers of the upstreams that were removed.
    package var left: [Int] = []

    package init() {}

    private enum CodingKeys: CodingKey {
        case clients, upstreams, listeners
    }

    package var isEmpty: Bool { self.clients.isEmpty && self.upstreams.isEmpty && self.listeners.isEmpty }
}

/// The reason why a reload changes nothing.
package struct ReloadFault: Error, Hashable, CustomStringConvertible {
    /// One sentence or more.
    package let description: String

    package init(_ description: String) { self.description = description }

    /// The gateway ends, and takes no configuration.
    package static let ending = ReloadFault("The gateway ends.")
}

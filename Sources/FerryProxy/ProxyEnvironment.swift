internal import FerryPlatform

/// The proxy that the variables of a process name: `HTTPS_PROXY`, and `NO_PROXY` for the hosts that need no proxy.
///
/// The name in lower case wins, as in curl. An empty value counts as missing.
package struct ProxyEnvironment: Sendable {
    /// A proxy, and the variable that names it.
    package struct Found: Equatable, Sendable {
        package var proxy: HTTPProxy
        package var variable: String

        /// Returns a sentence that names the proxy for a host, and the variable that names it.
        package func sentence(for host: String) -> String {
            "connections to \(host) go through the proxy \(self.proxy), which \(self.variable) names"
        }
    }

    /// The word that stands for these variables in an option.
    package static let word = "environment"

    private let variable: (name: String, value: String)?
    private let exceptions: NoProxyList

    /// - Parameter variables: the environment variables; by default those of this process.
    package init(_ variables: [String: String] = ProcessInfo.processInfo.environment) {
        self.variable = Self.first(["https_proxy", "HTTPS_PROXY"], of: variables)
        self.exceptions = NoProxyList(Self.first(["no_proxy", "NO_PROXY"], of: variables)?.value ?? "")
    }

    /// Returns the proxy for connections to a host; nil if no variable names a proxy, or if `NO_PROXY` lists the
    /// host.
    ///
    /// - Throws: ``ProxyAddressFault`` when the host needs a proxy, and the variable names none that can be used.
    package func proxy(for host: String) throws(ProxyAddressFault) -> Found? {
        guard let (name, value) = self.variable, !self.exceptions.contains(host) else { return nil }
        return Found(proxy: try HTTPProxy(variable: name, value: value), variable: name)
    }

    private static func first(_ names: [String], of variables: [String: String]) -> (name: String, value: String)? {
        for name in names {
            if let value = variables[name], !value.isEmpty { return (name, value) }
        }
        return nil
    }
}

/// A host and port from an option: `HOST:PORT`, `HOST`, or `[ADDRESS]:PORT` for an IPv6 address.
package struct Endpoint: Equatable, Sendable {
    package var host: String
    package var port: Int?

    /// Returns the endpoint in the form of the option.
    package static func text(_ host: String, _ port: Int) -> String {
        host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
    }

    package init(host: String, port: Int? = nil) {
        self.host = host
        self.port = port
    }

    package init?(argument: String) {
        var host = argument[...]
        var port: Substring?
        if argument.first == "[" {
            guard let end = argument.firstIndex(of: "]") else { return nil }
            host = argument[argument.index(after: argument.startIndex)..<end]
            let rest = argument[argument.index(after: end)...]
            guard rest.isEmpty || rest.first == ":" else { return nil }
            port = rest.isEmpty ? nil : rest.dropFirst()
        } else if let colon = argument.lastIndex(of: ":") {
            host = argument[..<colon]
            port = argument[argument.index(after: colon)...]
            guard !host.contains(":") else { return nil }
        }
        guard HostName.isOne(String(host)) else { return nil }
        self.host = String(host)
        guard let port else { return }
        guard let number = UInt16(port), number > 0 else { return nil }
        self.port = Int(number)
    }
}

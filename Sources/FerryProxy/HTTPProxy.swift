/// An HTTP proxy for connections, used through CONNECT (RFC 9110, 9.3.6).
///
/// The connection to the proxy is not encrypted. TLS to the server runs inside the tunnel, so the proxy sees only
/// host and port of the server. The password appears in no description.
public struct HTTPProxy: Sendable, Hashable {
    /// The host of the proxy: a name or an address. A name is resolved again for each connection.
    public var host: String
    /// The port of the proxy, 1 to 65,535.
    public var port: Int
    /// The user name for Basic authentication (RFC 7617). It must not contain a colon. Without user name and password,
    /// there is no authentication.
    public var userName: String?
    /// The password for ``userName``.
    public var password: String?

    /// Makes a proxy, with user name and password if it requires them.
    public init(host: String, port: Int, userName: String? = nil, password: String? = nil) {
        self.host = host
        self.port = port
        self.userName = userName
        self.password = password
    }
}

extension HTTPProxy: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// Host and port.
    public var description: String { "\(self.host):\(self.port)" }

    /// The same as ``description``.
    public var debugDescription: String { self.description }

    /// The properties without the password.
    public var customMirror: Mirror {
        Mirror(
            self,
            children: ["host": self.host, "port": self.port, "userName": self.userName as Any],
            displayStyle: .struct
        )
    }
}

/// An HTTP proxy that connections go through, by CONNECT (RFC 9110, 9.3.6).
///
/// The connection to the proxy itself is not encrypted; TLS to APNs runs through it, and the proxy sees of it no more than
/// host and port. No description shows the password.
public struct HTTPProxy: Sendable, Hashable {
    /// A name or an address. Looked up anew for each connection.
    public var host: String
    /// 1 to 65,535.
    public var port: Int
    /// Who the provider is at the proxy, by Basic authentication (RFC 7617). Nil: nobody. Without a colon.
    public var userName: String?
    /// What goes with ``userName``.
    public var password: String?

    /// A proxy, with user name and password if it wants them.
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

    /// As ``description``.
    public var debugDescription: String { self.description }

    /// Without the password.
    public var customMirror: Mirror {
        Mirror(
            self,
            children: ["host": self.host, "port": self.port, "userName": self.userName as Any],
            displayStyle: .struct
        )
    }
}

internal import FerryOpenSSL
internal import FerryPlatform
package import NIOHTTP1

/// The rule for who may ask the admin service, and for what. No I/O.
///
/// | over | who | what |
/// |---|---|---|
/// | the socket in the file system | whom its permissions (0600) admit: the same user | everything |
/// | the port | whoever has the token, if there is one | `GET` and `HEAD` |
package struct AdminAccess: Sendable {
    package enum Way: Sendable {
        case socket
        case port
    }

    /// The answer to a request that is not let in.
    package enum Refusal: Error, Hashable {
        /// The name of the host is not one of this service (421). A page of somebody else's may have led a browser here
        /// by changing the address of its own name.
        case foreignHost
        /// The token is missing or wrong (401).
        case unauthorized
        /// The port only reads (405).
        case readOnly
    }

    /// The names under which a port without a token may be asked, besides `localhost` and every address: an address cannot be made to
    /// lead elsewhere, and a name can.
    private let names: Set<String>
    private let token: [UInt8]?

    /// - Parameters:
    ///   - names: the configured host, and others of this machine.
    ///   - token: nil: the port wants none.
    package init(names: Set<String>, token: [UInt8]?) {
        self.names = Set(names.map { $0.lowercased() })
        self.token = token
    }

    package func admit(_ way: Way, _ method: String, _ headers: HTTPHeaders) throws(Refusal) {
        guard case .port = way else { return }
        // A page of somebody else's cannot send the token, so with a token any name will do, such as that of a balancer.
        if self.token == nil {
            let hosts = headers["host"]
            guard hosts.count == 1, self.isOwn(hosts[0]) else { throw .foreignHost }
        }
        guard self.isAuthorized(headers["authorization"].first) else { throw .unauthorized }
        guard ["GET", "HEAD"].contains(method) else { throw .readOnly }
    }

    /// - Parameter host: `name`, `name:port`, `address:port` or `[address]:port`.
    private func isOwn(_ host: String) -> Bool {
        let name: Substring
        if host.hasPrefix("[") {
            guard let end = host.firstIndex(of: "]") else { return false }
            name = host[..<end].dropFirst()
        } else {
            name = host.prefix { $0 != ":" }
        }
        let lower = name.lowercased()
        return lower == "localhost" || self.names.contains(lower) || Self.isAddress(String(name))
    }

    private static func isAddress(_ name: String) -> Bool {
        var bytes = in6_addr()
        return inet_pton(AF_INET, name, &bytes) == 1 || inet_pton(AF_INET6, name, &bytes) == 1
    }

    /// Takes `Bearer TOKEN`, and `Basic` with the token as the password, which browsers and Prometheus can send.
    private func isAuthorized(_ header: String?) -> Bool {
        guard let token else { return true }
        guard let header, let space = header.firstIndex(of: " ") else { return false }
        let credential = header[space...].drop { $0 == " " }
        switch header[..<space].lowercased() {
        case "bearer":
            return SHA256.areEqual(Array(credential.utf8), token)
        case "basic":
            guard let decoded = Data(base64Encoded: String(credential)),
                let colon = decoded.firstIndex(of: UInt8(ascii: ":"))
            else { return false }
            return SHA256.areEqual(Array(decoded[colon...].dropFirst()), token)
        default:
            return false
        }
    }
}

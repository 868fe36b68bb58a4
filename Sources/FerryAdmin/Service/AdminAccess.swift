internal import FerryOpenSSL
internal import FerryPlatform
package import NIOHTTP1

/// The rules of access to the admin service, without I/O.
///
/// | way | allowed to ask | allowed requests |
/// |---|---|---|
/// | the socket in the file system | the same user, because of its permissions (0600) | all requests |
/// | the port | everyone with the token; everyone if no token is set | `GET` and `HEAD` |
package struct AdminAccess: Sendable {
    package enum Way: Sendable {
        case socket
        case port
    }

    /// The reason why a request is not let in, with the status of the answer.
    package enum Refusal: Error, Hashable {
        /// The name of the host is not one of this service (421). A foreign page may have led a browser here, by
        /// pointing its own name at this address.
        case foreignHost
        /// The token is missing or wrong (401).
        case unauthorized
        /// The port accepts only methods that read (405).
        case readOnly
    }

    /// The host names that a port without a token accepts, besides `localhost` and every address. A foreign page can
    /// point its own name at this service, but cannot use an address.
    private let names: Set<String>
    private let token: [UInt8]?

    /// - Parameters:
    ///   - names: the configured host, and other names of this machine.
    ///   - token: the token of the port; nil if it needs no token.
    package init(names: Set<String>, token: [UInt8]?) {
        self.names = Set(names.map { $0.lowercased() })
        self.token = token
    }

    package func admit(_ way: Way, _ method: String, _ headers: HTTPHeaders) throws(Refusal) {
        guard case .port = way else { return }
        // A foreign page cannot send the token. So with a token every host name is accepted, such as that of a
        // balancer.
        if self.token == nil {
            let hosts = headers["host"]
            guard hosts.count == 1, self.isOwn(hosts[0]) else { throw .foreignHost }
        }
        guard self.isAuthorized(headers["authorization"].first) else { throw .unauthorized }
        guard ["GET", "HEAD"].contains(method) else { throw .readOnly }
    }

    /// - Parameter host: a name or an address, with or without a port. An IPv6 address is in brackets.
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

    /// Whether a header has the token: as `Bearer TOKEN`, or as the password of `Basic`. Browsers and Prometheus can
    /// send a password.
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

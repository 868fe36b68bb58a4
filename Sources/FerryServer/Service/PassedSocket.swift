internal import FerryPlatform
internal import NIOCore

/// A listening socket that another process has bound and passes to this process.
///
/// The other process keeps the socket open. So while this process ends and its successor starts, the system queues
/// new connections, and refuses none.
package struct PassedSocket: Hashable, Sendable {
    package let descriptor: Int32
    /// The IP address; the path for a socket in the file system.
    package let host: String
    /// The port; nil for a socket in the file system.
    package let port: Int?

    /// Checks a descriptor, and sets FD_CLOEXEC. So programs that this process starts do not inherit the socket.
    ///
    /// - Parameter name: the name of the socket, for errors.
    /// - Throws: ``ServiceFault`` when the descriptor is no listening stream socket, or its address is neither an IP
    ///   address nor a path.
    package init(_ descriptor: Int32, name: String) throws(ServiceFault) {
        guard let type = Self.option(SO_TYPE, of: descriptor) else {
            throw ServiceFault("The passed socket '\(name)' (descriptor \(descriptor)) is no open socket.")
        }
        guard type == SystemCalls.streamSocket, Self.option(SO_ACCEPTCONN, of: descriptor) != 0 else {
            throw ServiceFault(
                "The passed socket '\(name)' does not listen: its unit needs ListenStream= and Accept=no."
            )
        }
        guard let address = Self.address(of: descriptor) else {
            throw ServiceFault("The passed socket '\(name)' has an address that is neither IP nor a path.")
        }
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
        self.descriptor = descriptor
        self.host = address.ipAddress ?? address.pathname ?? ""
        self.port = address.port
    }

    /// Whether only programs of this machine reach the socket.
    package var isLocal: Bool { self.port == nil || self.host.hasPrefix("127.") || self.host == "::1" }

    private static func option(_ name: Int32, of descriptor: Int32) -> Int32? {
        var value: Int32 = 0
        var length = socklen_t(MemoryLayout<Int32>.size)
        guard getsockopt(descriptor, SOL_SOCKET, name, &value, &length) == 0 else { return nil }
        return value
    }

    private static func address(of descriptor: Int32) -> SocketAddress? {
        var storage = sockaddr_storage()
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        let code = withUnsafeMutablePointer(to: &storage) { storage in
            storage.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(descriptor, $0, &length) }
        }
        guard code == 0 else { return nil }
        let family = Int32(storage.ss_family)
        return withUnsafeBytes(of: storage) { bytes -> SocketAddress? in
            switch family {
            case AF_INET: return SocketAddress(bytes.loadUnaligned(as: sockaddr_in.self))
            case AF_INET6: return SocketAddress(bytes.loadUnaligned(as: sockaddr_in6.self))
            case AF_UNIX: return SocketAddress(bytes.loadUnaligned(as: sockaddr_un.self))
            default: return nil
            }
        }
    }
}

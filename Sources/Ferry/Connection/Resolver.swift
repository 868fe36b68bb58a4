internal import FerryPlatform
package import NIOCore
internal import NIOPosix

/// Resolves host names with the system's resolver.
package enum Resolver {
    /// The reason why a name could not be resolved.
    package enum Fault: Error, Equatable, Sendable {
        /// The resolver failed, with its own message.
        case refused(String)
        case timedOut
    }

    /// Resolves a name within `limit`. The system's resolver cannot be cancelled: after the limit it continues unseen.
    package static func addresses(
        of host: String,
        port: Int,
        within limit: Duration,
        on eventLoop: any EventLoop
    ) async -> Result<[SocketAddress], Fault> {
        let promise = eventLoop.makePromise(of: [SocketAddress].self)
        let deadline = eventLoop.scheduleTask(in: TimeAmount(limit)) { promise.fail(Fault.timedOut) }
        let looking = NIOThreadPool.singleton.runIfActive(eventLoop: eventLoop) {
            try Self.addresses(of: host, port: port)
        }
        looking.whenComplete { result in
            deadline.cancel()
            // A late answer has no effect: a promise keeps its first value.
            promise.completeWith(result)
        }
        do {
            return .success(try await promise.futureResult.get())
        } catch let fault as Fault {
            return .failure(fault)
        } catch {
            return .failure(.refused("\(error)"))
        }
    }

    /// Resolves a name. The addresses come in the system's order of preference. Blocks.
    ///
    /// - Throws: ``Fault``.
    package static func addresses(of host: String, port: Int) throws -> [SocketAddress] {
        var hints = addrinfo()
        hints.ai_socktype = SystemCalls.streamSocket
        var first: UnsafeMutablePointer<addrinfo>?
        let status = getaddrinfo(host, String(port), &hints, &first)
        guard status == 0 else {
            throw Fault.refused(String(cString: gai_strerror(status)))
        }
        defer { freeaddrinfo(first) }
        var addresses: [SocketAddress] = []
        var cursor = first
        while let entry = cursor?.pointee {
            if let address = Self.address(entry), !addresses.contains(address) { addresses.append(address) }
            cursor = entry.ai_next
        }
        guard !addresses.isEmpty else { throw Fault.refused("neither IPv4 nor IPv6") }
        return addresses
    }

    private static func address(_ entry: addrinfo) -> SocketAddress? {
        guard let address = entry.ai_addr else { return nil }
        return switch entry.ai_family {
        case AF_INET: address.withMemoryRebound(to: sockaddr_in.self, capacity: 1) { SocketAddress($0.pointee) }
        case AF_INET6: address.withMemoryRebound(to: sockaddr_in6.self, capacity: 1) { SocketAddress($0.pointee) }
        default: nil
        }
    }
}

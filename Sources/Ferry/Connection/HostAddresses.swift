internal import FerryCore
package import NIOCore
package import NIOPosix

/// The addresses of one host, the best first. The name is resolved again for each connection.
///
/// Safe from any thread. At most one look-up runs at a time, and concurrent callers share its answer. Otherwise a
/// resolver that hangs would block one more thread of the pool for each attempt to connect.
package final class HostAddresses: Sendable {
    /// Resolves a name. May block.
    package typealias Source = @Sendable (_ host: String, _ port: Int) throws -> [SocketAddress]

    /// The number of addresses that are tried for one connection.
    package static let limit = 8

    private struct State {
        var lookup: EventLoopFuture<[SocketAddress]>?
        /// The address of the last connection that was established.
        var proven: SocketAddress?
    }

    private let host: String
    private let port: Int
    private let source: Source
    private let pool: @Sendable () -> NIOThreadPool
    private let state = Locked(State())

    /// - Parameters:
    ///   - source: the resolver of names.
    ///   - pool: the threads on which names are resolved.
    package init(
        host: String,
        port: Int,
        source: @escaping Source = Resolver.addresses,
        pool: @escaping @Sendable () -> NIOThreadPool = { .singleton }
    ) {
        self.host = host
        self.port = port
        self.source = source
        self.pool = pool
    }

    /// Returns at most ``limit`` addresses.
    ///
    /// Fails with ``Resolver/Fault``. Has no time limit: it waits as long as the resolver takes.
    package func find(on eventLoop: any EventLoop) -> EventLoopFuture<[SocketAddress]> {
        let lookup = self.state.withLock { state in
            if let lookup = state.lookup { return lookup }
            let (host, port, source) = (self.host, self.port, self.source)
            let lookup = self.pool().runIfActive(eventLoop: eventLoop) { try source(host, port) }
            state.lookup = lookup
            return lookup
        }
        // This is outside the lock, because a finished look-up calls back at once, and the callback takes the lock.
        lookup.whenComplete { _ in
            self.state.withLock { if $0.lookup === lookup { $0.lookup = nil } }
        }
        return lookup.hop(to: eventLoop).map { found in
            Self.ordered(found, proven: self.state.withLock(\.proven))
        }
    }

    /// Notes that TLS was established with this address. The next connection tries it first.
    package func proved(_ address: SocketAddress) {
        self.state.withLock { $0.proven = address }
    }

    /// Sorts the addresses: first the proven one, then IPv4 and IPv6 alternately. If one family does not work, each of
    /// its addresses costs only the time to start the next (RFC 8305 section 4).
    package static func ordered(_ found: [SocketAddress], proven: SocketAddress?) -> [SocketAddress] {
        let first = proven.flatMap { found.contains($0) ? $0 : nil }
        let rest = found.filter { $0 != first }
        let own = rest.filter { $0.protocol == rest.first?.protocol }
        let other = rest.filter { $0.protocol != rest.first?.protocol }
        var ordered = first.map { [$0] } ?? []
        for place in 0..<max(own.count, other.count) {
            if place < own.count { ordered.append(own[place]) }
            if place < other.count { ordered.append(other[place]) }
        }
        return Array(ordered.prefix(Self.limit))
    }
}

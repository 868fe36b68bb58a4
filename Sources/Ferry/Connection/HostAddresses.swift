package import NIOCore
internal import NIOPosix
internal import Synchronization

/// The addresses of one host, looked up anew for each connection, the best first.
///
/// Safe from any thread. At most one look-up is under way: whoever asks meanwhile gets the same answer, so that a
/// resolver that hangs takes one thread of the pool and not one for each attempt to connect.
package final class HostAddresses: Sendable {
    /// Looks a name up; may block.
    package typealias Source = @Sendable (_ host: String, _ port: Int) throws -> [SocketAddress]

    /// How many addresses of a host are tried for one connection.
    package static let limit = 8

    private struct State {
        var lookup: EventLoopFuture<[SocketAddress]>?
        /// Where the last connection was established.
        var proven: SocketAddress?
    }

    private let host: String
    private let port: Int
    private let source: Source
    private let state = Mutex(State())

    package init(host: String, port: Int, source: @escaping Source = Resolver.addresses) {
        self.host = host
        self.port = port
        self.source = source
    }

    /// At most ``limit`` addresses.
    ///
    /// Fails with ``Resolver/Fault``; does not end before the resolver does.
    package func find(on eventLoop: any EventLoop) -> EventLoopFuture<[SocketAddress]> {
        let lookup = self.state.withLock { state in
            if let lookup = state.lookup { return lookup }
            let (host, port, source) = (self.host, self.port, self.source)
            let lookup = NIOThreadPool.singleton.runIfActive(eventLoop: eventLoop) { try source(host, port) }
            state.lookup = lookup
            return lookup
        }
        // Not under the lock: a look-up that has ended calls back at once.
        lookup.whenComplete { _ in
            self.state.withLock { if $0.lookup === lookup { $0.lookup = nil } }
        }
        return lookup.hop(to: eventLoop).map { found in
            Self.ordered(found, proven: self.state.withLock(\.proven))
        }
    }

    /// TLS was established with this address: the next connection begins with it.
    package func proved(_ address: SocketAddress) {
        self.state.withLock { $0.proven = address }
    }

    /// The proven address, then the families in turn, so that one that does not work costs little (RFC 8305 section 4).
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

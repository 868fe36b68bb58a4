internal import FerryCore
package import NIOCore
package import NIOPosix

/// The demands of a foreign process on a provider: its own threads for look-ups, and knowledge of the sockets.
package struct Embedding: Sendable {
    /// The threads on which host names are resolved.
    package var lookupPool: NIOThreadPool
    /// Calls its argument, which resolves a name, at a time that the process permits.
    package var lookUp: @Sendable (() throws -> [SocketAddress]) throws -> [SocketAddress]
    package var sockets: OpenSockets

    package init(
        lookupPool: NIOThreadPool,
        lookUp: @escaping @Sendable (() throws -> [SocketAddress]) throws -> [SocketAddress],
        sockets: OpenSockets
    ) {
        self.lookupPool = lookupPool
        self.lookUp = lookUp
        self.sockets = sockets
    }
}

/// The sockets of a process's connections, by their cookies. Any thread.
///
/// A child of `fork` has copies of them, and SwiftNIO does not tell its descriptors. While a copy is open, the server does not
/// see that the parent closed the connection.
package final class OpenSockets: Sendable {
    /// `SO_COOKIE` (Linux 4.12, `asm-generic/socket.h`): a number of 64 bits that no other socket has until the next boot. Older
    /// kernels have none, and then no socket is known.
    package static let cookieOption: Int32 = 57

    private let cookies = Locked<Set<UInt64>>([])

    package init() {}

    /// The cookies of all sockets that are open now.
    package var current: Set<UInt64> { self.cookies.withLock { $0 } }

    /// Notes the socket of a new channel until it is closed. On its event loop.
    func note(_ channel: any Channel) {
        #if os(Linux)
        guard let socket = channel as? any SocketOptionProvider else { return }
        let reading: EventLoopFuture<UInt64> = socket.unsafeGetSocketOption(
            level: .socket,
            name: .init(rawValue: Self.cookieOption)
        )
        reading.whenSuccess { cookie in
            self.cookies.withLock { _ = $0.insert(cookie) }
            channel.closeFuture.whenComplete { _ in self.cookies.withLock { _ = $0.remove(cookie) } }
        }
        #endif
    }
}

package import FerryServer
internal import NIOCore

/// The number of connections that all listeners of the gateway may have together. The limit leaves descriptors free for
/// upstreams, store and list, even if strangers open connections on both ports.
package struct GatewayRoom: Hashable, Sendable {
    /// The descriptors that an upstream may need: for its connections, for those that are opening or closing, and for
    /// the look-up of its name. If a peer answers PINGs but no requests, there are at most four common connections and
    /// five side connections, and 16 descriptors are enough.
    package static let upstream = 16
    /// The smallest number of clients with which the gateway starts.
    package static let fewest = 32
    /// The largest number of readers. A reader is connected for seconds only, so few readers are connected at the same
    /// time.
    private static let mostReaders = 1024
    /// The descriptors of an event loop: epoll, eventfd and timerfd.
    private static let loop = 3
    /// The descriptors of a gateway that shares its process: its event loop, and its session with the database.
    private static let shared = 6

    /// The largest number of connections of clients to each gateway.
    package var clients: Int
    /// The largest number of connections to the feedback service; 0 without the service.
    package var readers: Int

    /// - Parameter gateways: the largest number of gateways in the process. Each gets an equal part of the connections.
    ///   So a gateway can still start when all the others have their largest number of clients.
    package init(
        upstreams: Int,
        hasFeedback: Bool,
        gateways: Int = 1,
        loops: Int = NIOSingletons.groupLoopCountSuggestion,
        in limit: DescriptorLimit = .current
    ) {
        let free = limit.connections(.max) - Self.own(upstreams, gateways) - loops * Self.loop
        self.readers = hasFeedback ? max(1, min(free / 4, Self.mostReaders)) : 0
        self.clients = max(1, (free - self.readers) / gateways)
    }

    /// The number of descriptors that the gateways of a process need to start, without the descriptors of other event
    /// loops.
    package static func needed(upstreams: Int, gateways: Int = 1) -> Int {
        DescriptorLimit.reserve + self.own(upstreams, gateways) + gateways * self.fewest
    }

    private static func own(_ upstreams: Int, _ gateways: Int) -> Int {
        gateways * (upstreams * self.upstream + (gateways > 1 ? self.shared : 0))
    }
}

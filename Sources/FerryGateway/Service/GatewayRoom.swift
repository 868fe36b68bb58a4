package import FerryServer
internal import NIOCore

/// The number of connections that the gateway's listeners may have together. Upstreams, store and list then always find
/// a free descriptor, whatever strangers do on both ports.
package struct GatewayRoom: Hashable, Sendable {
    /// The descriptors for an upstream: its connections, those that are dialled or end, and the look-up of its name. While a
    /// peer answers PINGs and no requests, there are at most four common connections, and five side connections.
    package static let upstream = 16
    /// The fewest clients for which it is worth to start.
    package static let fewest = 32
    /// A feedback list is read within seconds, so few readers are connected at a time.
    private static let mostReaders = 1024
    /// The descriptors of an event loop: epoll, eventfd and timerfd.
    private static let loop = 3

    /// The connections of old clients.
    package var clients: Int
    /// The connections of readers of the feedback service; 0 without one.
    package var readers: Int

    package init(
        upstreams: Int,
        hasFeedback: Bool,
        loops: Int = NIOSingletons.groupLoopCountSuggestion,
        in limit: DescriptorLimit = .current
    ) {
        let free = limit.connections(.max) - upstreams * Self.upstream - loops * Self.loop
        self.readers = hasFeedback ? max(1, min(free / 4, Self.mostReaders)) : 0
        self.clients = max(1, free - self.readers)
    }

    /// The sockets without which the gateway should not start, event loops apart.
    package static func needed(upstreams: Int) -> Int {
        DescriptorLimit.reserve + upstreams * self.upstream + self.fewest
    }
}

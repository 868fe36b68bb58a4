internal import FerryPlatform
package import NIOCore

/// The facts that Linux knows about a TCP connection: part of `struct tcp_info` (linux/tcp.h).
package struct TCPInfo: Sendable {
    /// `struct tcp_info` up to `tcpi_rtt`: the state and 7 bytes of flags, 15 words of 32 bits, and the round trip in
    /// microseconds.
    private struct Layout {
        var state: UInt8 = 0
        var flags: InlineArray<7, UInt8> = .init(repeating: 0)
        var words: InlineArray<15, UInt32> = .init(repeating: 0)
        var roundTrip: UInt32 = 0
    }

    /// The index of `tcpi_unacked` among the words. Two timeouts and two segment sizes come before it.
    private static let unacknowledged = 4

    /// `TCP_ESTABLISHED`, `TCP_CLOSE` and `TCP_CLOSE_WAIT` (linux/tcp_states.h).
    private static let (established, reset, endedByPeer): (UInt8, UInt8, UInt8) = (1, 7, 8)

    /// Whether the peer's system has acknowledged every segment that was sent, and has not reset the connection.
    /// False after this process has ended its side.
    package var hasPeerEverything: Bool {
        (self.state == Self.established || self.state == Self.endedByPeer) && self.unacknowledged == 0
    }
    var wasReset: Bool { self.state == Self.reset }
    /// Whether the peer has ended its side, and this process has not ended its own.
    var hasPeerEnded: Bool { self.state == Self.endedByPeer }

    /// `tcpi_state`.
    package var state: UInt8
    /// `tcpi_rtt`: the smoothed round trip.
    package var roundTrip: TimeAmount
    /// `tcpi_unacked`: the number of segments that were sent and not acknowledged.
    package var unacknowledged: Int

    /// Reads the facts from the system. On the event loop of the channel, the future completes at once. The future
    /// fails if the system does not have the option.
    package static func get(_ socket: any SocketOptionProvider) -> EventLoopFuture<TCPInfo> {
        socket.unsafeGetSocketOption(
            level: SocketOptionLevel(IPPROTO_TCP),
            name: SocketOptionName(TCP_INFO)
        ).map { (layout: Layout) in
            TCPInfo(
                state: layout.state,
                roundTrip: .microseconds(Int64(layout.roundTrip)),
                unacknowledged: Int(layout.words[Self.unacknowledged])
            )
        }
    }
}

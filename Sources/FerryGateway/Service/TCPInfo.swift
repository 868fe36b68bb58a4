internal import NIOCore

#if canImport(Glibc)
private import Glibc
#elseif canImport(Musl)
private import Musl
#else
private import Darwin
#endif

/// What Linux knows of a TCP connection: part of `struct tcp_info` (linux/tcp.h).
struct TCPInfo: Sendable {
    /// `struct tcp_info` up to `tcpi_rtt`: the state and 7 bytes of flags, 15 words, and the round trip in microseconds.
    private struct Layout {
        var state: UInt8 = 0
        var flags: InlineArray<7, UInt8> = .init(repeating: 0)
        var words: InlineArray<15, UInt32> = .init(repeating: 0)
        var roundTrip: UInt32 = 0
    }

    /// The place of `tcpi_unacked` among the words, behind two timeouts and two segment sizes.
    private static let unacknowledged = 4

    /// `TCP_ESTABLISHED` and `TCP_CLOSE_WAIT` (linux/tcp_states.h): no reset has come. In the second state the peer has
    /// ended its side.
    private static let open: Set<UInt8> = [1, 8]

    /// Whether the peer's system has acknowledged every byte, and has not reset the connection.
    var hasPeerEverything: Bool { Self.open.contains(self.state) && self.unacknowledged == 0 }

    /// `tcpi_state`.
    var state: UInt8
    /// `tcpi_rtt`: the smoothed round trip.
    var roundTrip: TimeAmount
    /// `tcpi_unacked`: the segments that were sent and not acknowledged.
    var unacknowledged: Int

    /// On the event loop of the channel, the future completes at once.
    static func get(_ socket: any SocketOptionProvider) -> EventLoopFuture<TCPInfo> {
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

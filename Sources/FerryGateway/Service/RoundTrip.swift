internal import NIOCore

#if canImport(Glibc)
private import Glibc
#elseif canImport(Musl)
private import Musl
#else
private import Darwin
#endif

/// The round trip of a TCP connection, as Linux measured it: `tcpi_rtt` of `struct tcp_info` (linux/tcp.h).
enum RoundTrip {
    /// `struct tcp_info` up to `tcpi_rtt`: 8 bytes of flags, 15 words, and the round trip in microseconds.
    private struct Layout {
        var flags: UInt64 = 0
        var words: InlineArray<15, UInt32> = .init(repeating: 0)
        var roundTrip: UInt32 = 0
    }

    static func get(_ socket: any SocketOptionProvider) -> EventLoopFuture<TimeAmount> {
        socket.unsafeGetSocketOption(
            level: SocketOptionLevel(IPPROTO_TCP),
            name: SocketOptionName(TCP_INFO)
        ).map { (layout: Layout) in .microseconds(Int64(layout.roundTrip)) }
    }
}

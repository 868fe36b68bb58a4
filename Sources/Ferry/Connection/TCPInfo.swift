internal import NIOCore

#if canImport(Glibc)
private import Glibc
#elseif canImport(Musl)
private import Musl
#else
private import Darwin
#endif

/// What Linux knows about a TCP connection: the part of `struct tcp_info` (linux/tcp.h) that Ferry needs.
///
/// Acknowledged bytes are what was handed to the kernel less `SIOCOUTQ`, and need no file descriptor. The two counters
/// are there since Linux 4.1.
struct TCPInfo: Sendable {
    /// Bytes for which acknowledgements came, the SYN and the FIN counted as one each.
    var bytesAcknowledged: UInt64
    /// Bytes that came, read or not, the FIN counted as one.
    var bytesReceived: UInt64

    /// `struct tcp_info` up to `tcpi_bytes_received`: 8 bytes of flags, 24 words, two rates.
    private struct Layout {
        var flags: UInt64 = 0
        var words: InlineArray<24, UInt32> = .init(repeating: 0)
        var pacingRate: UInt64 = 0
        var maximumPacingRate: UInt64 = 0
        var bytesAcknowledged: UInt64 = 0
        var bytesReceived: UInt64 = 0
    }

    static func get(_ socket: any SocketOptionProvider) -> EventLoopFuture<TCPInfo> {
        socket.unsafeGetSocketOption(
            level: SocketOptionLevel(IPPROTO_TCP),
            name: SocketOptionName(TCP_INFO)
        ).map { (layout: Layout) in
            TCPInfo(bytesAcknowledged: layout.bytesAcknowledged, bytesReceived: layout.bytesReceived)
        }
    }
}

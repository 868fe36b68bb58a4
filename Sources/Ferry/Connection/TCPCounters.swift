internal import FerryPlatform
internal import NIOCore

/// The counters of a TCP connection in Linux: the part of `struct tcp_info` (linux/tcp.h) that Ferry uses.
///
/// Bytes acknowledged could also be computed as the bytes handed to the kernel less `SIOCOUTQ`. This way needs no file
/// descriptor. The two counters exist since Linux 4.1.
struct TCPCounters: Sendable {
    /// The bytes that the peer has acknowledged. SYN and FIN count as one each.
    var bytesAcknowledged: UInt64
    /// The bytes that were received, read or not. FIN counts as one.
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

    static func get(_ socket: any SocketOptionProvider) -> EventLoopFuture<TCPCounters> {
        socket.unsafeGetSocketOption(
            level: SocketOptionLevel(IPPROTO_TCP),
            name: SocketOptionName(TCP_INFO)
        ).map { (layout: Layout) in
            TCPCounters(bytesAcknowledged: layout.bytesAcknowledged, bytesReceived: layout.bytesReceived)
        }
    }
}

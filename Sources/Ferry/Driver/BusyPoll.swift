internal import NIOCore

#if canImport(Glibc)
private import Glibc
#elseif canImport(Musl)
private import Musl
#endif

/// Looks for what is about to arrive instead of sleeping until it does.
///
/// Over loopback an answer takes less time than waking a thread for it. Looking pays only while the peer runs on a
/// processor of its own; so each time that nothing came, it is left out for longer, and over a network nearly always.
struct BusyPoll: Sendable {
    /// How long to look.
    static let limit = TimeAmount.microseconds(100)
    /// How often in a row it is left out at most.
    static let longestPause = 1024

    /// How often it is left out before the next time.
    private var toSkip = 0
    private var pause = 0

    init() {}

    /// Returns when `isReady` or when ``limit`` has passed, or at once when it does not pay.
    mutating func wait(clock: () -> NIODeadline = NIODeadline.now, until isReady: () -> Bool) {
        guard self.toSkip == 0 else {
            self.toSkip -= 1
            return
        }
        let end = clock() + Self.limit
        while !isReady() {
            guard clock() < end else {
                self.pause = min(max(self.pause * 2, 1), Self.longestPause)
                self.toSkip = self.pause
                return
            }
        }
        self.pause /= 2
    }
}

extension Channel {
    /// Whether the socket has received bytes that were not read. True where the system does not say.
    ///
    /// Of `SO_MEMINFO` (Linux 4.12) the first word, `SK_MEMINFO_RMEM_ALLOC`: the memory of what was received.
    var hasUnreadBytes: Bool {
        #if os(Linux)
        let option = ChannelOptions.Types.SocketOption(level: .socket, name: NIOBSDSocket.Option(rawValue: SO_MEMINFO))
        guard let words = try? self.syncOptions?.getOption(option) else { return true }
        return withUnsafeBytes(of: words) { $0.load(as: UInt32.self) } != 0
        #else
        return true
        #endif
    }
}

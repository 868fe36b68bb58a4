internal import FerryPlatform
internal import NIOCore

/// Polls for an answer instead of letting the event loop sleep.
///
/// Over loopback an answer arrives faster than a sleeping thread wakes. Polling pays only if the peer runs on another
/// processor. After each poll without an answer, more polls in a row are skipped; over a network nearly all are
/// skipped.
struct BusyPoll: Sendable {
    /// The length of one poll.
    static let limit = TimeAmount.microseconds(100)
    /// The largest number of polls in a row that are skipped.
    static let longestPause = 1024

    /// The number of polls to skip before the next one.
    private var toSkip = 0
    private var pause = 0

    init() {}

    /// Returns when `isReady` is true or ``limit`` has passed. Returns at once if this poll is skipped.
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
    /// Whether the socket has received bytes that were not read. True if the system does not report it.
    ///
    /// Reads the first word of `SO_MEMINFO` (Linux 4.12), `SK_MEMINFO_RMEM_ALLOC`: the memory of the received bytes.
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

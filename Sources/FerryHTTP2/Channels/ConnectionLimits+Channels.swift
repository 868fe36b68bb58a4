internal import NIOCore

extension ConnectionLimits {
    /// The number of requests under way. Each may bring a whole list, so it bounds the memory.
    private static let channelStreams = 8
    /// The bytes that APNs may send on a stream before it waits for Ferry. A list is longer than the 65,535 bytes of
    /// HTTP/2's default.
    private static let channelStreamWindow: UInt32 = 256 << 10
    private static let channelConnectionWindow: Int32 = 1 << 20
    /// The calls have deadlines of their own, which end before any connection is that old.
    private static let never = TimeAmount.hours(24 * 365)

    /// The limits of a connection for channels. A PING goes out only before a call on a connection that was idle for
    /// ``ChannelClient/idleLimit``, because the machine has slept.
    ///
    /// - Parameter listLimit: the longest body in bytes.
    init(listLimit: Int) {
        var session = HTTP2Session.Settings()
        session.maximumBodyLength = listLimit
        session.initialWindowSize = Self.channelStreamWindow
        session.connectionWindowSize = Self.channelConnectionWindow
        self.session = session
        self.connectTimeout = Self.never
        self.attemptTimeout = Self.never
        self.answerLimit = Self.never
        self.ping = PingMachine.Limits(interval: Self.never, idle: ChannelClient.idleLimit, stall: nil)
        self.maxStreams = Self.channelStreams
        self.startsWithOne = false
    }
}

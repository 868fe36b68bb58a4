internal import FerryOpenSSL

extension TLSHandler.Limits {
    /// For a peer that has lingered, or has nothing more to say, before it closes: its close_notify is not waited for
    /// long.
    static var briefShutdown: TLSHandler.Limits {
        var limits = TLSHandler.Limits()
        limits.shutdown = .milliseconds(250)
        return limits
    }
}

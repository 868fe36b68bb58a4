internal import ArgumentParser
internal import Ferry
internal import FerryBinary

/// Options of the binary protocol.
struct BinaryOptionGroup: ParsableArguments {
    enum Policy: String, ExpressibleByArgument, CaseIterable {
        case hold, evict
    }

    enum OnUnknown: String, ExpressibleByArgument, CaseIterable {
        case resend, report
    }

    @Option(help: "What a full cache does: hold writes back, or evict the oldest.")
    var cachePolicy = Policy.hold

    @Option(parsing: .unconditional, help: "How many notifications may be written and not settled, at first.")
    var cacheLength = BinaryOptions().cacheLength

    @Flag(help: "Keep the cache at --cache-length.")
    var noAutoAdjust = false

    @Option(
        parsing: .unconditional,
        help: """
            How many notifications the cache may grow to. It bounds throughput to as many in --settle-time, and memory \
            to about 300 bytes for each.
            """
    )
    var cacheLimit = 1 << 20

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "How long silence must last for acceptance to be presumed, in seconds; fractions are fine.",
            valueName: "seconds"
        )
    )
    var settleTime = Seconds(BinaryOptions().settleTime)

    @Option(help: "What was written when a connection ended without a word: resend it, or report it as uncertain.")
    var onUnknown = OnUnknown.resend

    @Option(parsing: .unconditional, help: "How many connections there may be.")
    var connections = 1

    @Flag(help: "At the cache's limit prove acceptance with a probe instead of waiting.")
    var probeWhenHeld = false

    @Option(parsing: .unconditional, help: ArgumentHelp("How long connecting may take.", valueName: "seconds"))
    var connectTimeout = Seconds(BinaryOptions().connectTimeout)

    @Option(parsing: .unconditional, help: "How many failures to connect in a row are too many; 0: none.")
    var connectionRetryLimit = 3

    func validate() throws {
        func require(_ condition: Bool, _ message: String) throws {
            if !condition { throw ValidationError(message) }
        }
        try require(1...(1 << 30) ~= self.cacheLength, "--cache-length takes 1 to \(1 << 30).")
        try require(1...(1 << 30) ~= self.cacheLimit, "--cache-limit takes 1 to \(1 << 30).")
        try require(1...1000 ~= self.connections, "--connections takes 1 to 1000.")
        try require(0...(1 << 30) ~= self.connectionRetryLimit, "--connection-retry-limit takes 0 to \(1 << 30).")
        try self.settleTime.validate("--settle-time")
        try self.connectTimeout.validate("--connect-timeout")
    }

    var options: BinaryOptions {
        var options = BinaryOptions()
        options.cachePolicy = self.cachePolicy == .hold ? .hold : .evict
        options.cacheLength = self.cacheLength
        options.autoAdjustCache = !self.noAutoAdjust
        // The limit is asked for in notifications; its bytes follow, at what an ordinary one has.
        options.cacheLimit.bytes = max(options.cacheLimit.bytes, self.cacheLimit * 256)
        options.cacheLimit.entries = self.cacheLimit
        options.settleTime = self.settleTime.duration
        options.onUnknown = self.onUnknown == .resend ? .resend : .report
        options.maxConnections = self.connections
        options.probeWhenHeld = self.probeWhenHeld
        options.connectTimeout = self.connectTimeout.duration
        options.connectionRetryLimit = self.connectionRetryLimit
        return options
    }
}

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

    @Option(
        parsing: .unconditional,
        help: "How many notifications may be written and not settled, at first. (default: \(Self.defaults.cacheLength))"
    )
    var cacheLength: Int?

    @Flag(
        inversion: .prefixedNo,
        help: "Let the cache grow to --cache-limit, or keep it at --cache-length. (default: --auto-adjust)"
    )
    var autoAdjust: Bool?

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

    @Option(
        parsing: .unconditional,
        help: "How many connections there may be. (default: \(Self.defaults.maxConnections))"
    )
    var connections: Int?

    @Flag(help: "At the cache's limit prove acceptance with a probe instead of waiting.")
    var probeWhenHeld = false

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            """
            How long connecting may take. \
            (default: \(Seconds(Self.defaults.connectTimeout).defaultValueDescription))
            """,
            valueName: "seconds"
        )
    )
    var connectTimeout: Seconds?

    @Option(
        parsing: .unconditional,
        help: """
            How many failures to connect in a row are too many; 0: none. (default: \(Self.defaults.connectionRetryLimit))
            """
    )
    var connectionRetryLimit: Int?

    static let cacheLengths = 1...(1 << 30)
    static let connectionCounts = 1...1000
    static let retryLimits = 0...(1 << 30)

    /// What holds unless an option or a configuration file says something else.
    static let defaults = {
        var options = BinaryOptions()
        // A person waits.
        options.connectionRetryLimit = 3
        return options
    }()

    func validate() throws {
        func require(_ number: Int?, in range: ClosedRange<Int>, _ option: String) throws {
            guard let number, !range.contains(number) else { return }
            throw ValidationError("\(option) takes \(range.lowerBound) to \(range.upperBound).")
        }
        try require(self.cacheLength, in: Self.cacheLengths, "--cache-length")
        try require(self.cacheLimit, in: Self.cacheLengths, "--cache-limit")
        try require(self.connections, in: Self.connectionCounts, "--connections")
        try require(self.connectionRetryLimit, in: Self.retryLimits, "--connection-retry-limit")
        try self.settleTime.validate("--settle-time")
        try self.connectTimeout?.validate("--connect-timeout")
    }

    /// Puts what these options say in place of what `options` had.
    func apply(to options: inout BinaryOptions) {
        options.cachePolicy = self.cachePolicy == .hold ? .hold : .evict
        // The limit is asked for in notifications; its bytes follow, at what an ordinary one has.
        options.cacheLimit.bytes = max(options.cacheLimit.bytes, self.cacheLimit * 256)
        options.cacheLimit.entries = self.cacheLimit
        options.settleTime = self.settleTime.duration
        options.onUnknown = self.onUnknown == .resend ? .resend : .report
        options.probeWhenHeld = self.probeWhenHeld
        if let cacheLength { options.cacheLength = cacheLength }
        if let autoAdjust { options.autoAdjustCache = autoAdjust }
        if let connections { options.maxConnections = connections }
        if let connectTimeout { options.connectTimeout = connectTimeout.duration }
        if let connectionRetryLimit { options.connectionRetryLimit = connectionRetryLimit }
    }
}

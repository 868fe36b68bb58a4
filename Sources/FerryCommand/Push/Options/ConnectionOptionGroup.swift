internal import ArgumentParser
internal import Ferry
internal import FerryBinary
internal import FerryHTTP2

/// Options of connections, with the same meaning for both protocols.
struct ConnectionOptionGroup: ParsableArguments {
    enum OnUnknown: String, ExpressibleByArgument, CaseIterable {
        case resend, report
    }

    @Option(
        help: """
            What was written when nothing says whether it arrived: resend it, or report it as uncertain. (default: \
            resend; report with --backend http2)
            """
    )
    var onUnknown: OnUnknown?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "How many connections there may be. (default: \(Self.binaryDefaults.maxConnections))",
            valueName: "n"
        )
    )
    var connections: Int?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            """
            On how many threads to send, each with its part of the devices and of --connections: 1 to \(Self.loopCounts.upperBound). \
            (default: 1)
            """,
            valueName: "n"
        )
    )
    var loops: Int?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            """
            How long connecting may take. \
            (default: \(Seconds(Self.binaryDefaults.connectTimeout).defaultValueDescription))
            """,
            valueName: "seconds"
        )
    )
    var connectTimeout: Seconds?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            """
            How many failures to connect in a row are allowed; with one more the run ends, and time does not unless \
            --connection-retry-time is given, too. 0 sets no limit. (default: 0)
            """,
            valueName: "n"
        )
    )
    var connectionRetryLimit: Int?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            """
            How long failures to connect in a row may go on before the run ends. 0 sets no limit. \
            (default: \(Seconds(Self.retryTime).defaultValueDescription); none with --connection-retry-limit)
            """,
            valueName: "seconds"
        )
    )
    var connectionRetryTime: Seconds?

    static let counts = 1...1000
    static let loopCounts = 1...64
    static let retryLimits = 0...(1 << 30)
    /// The limit of retries. It is a time, because a person waits. A number would not fit: a gateway that restarts
    /// refuses many times a second.
    private static let retryTime: Duration = .seconds(30)

    /// The defaults for the binary protocol, for the command line and a configuration file to replace.
    static let binaryDefaults = {
        var options = BinaryOptions()
        options.connectionRetryLimit = nil
        options.connectionRetryTime = Self.retryTime
        return options
    }()

    /// The defaults for HTTP/2, for the command line to replace.
    static let http2Defaults = {
        var options = HTTP2Options()
        options.connectionRetryLimit = nil
        options.connectionRetryTime = Self.retryTime
        return options
    }()

    func validate() throws {
        try Self.counts.require(self.connections, "--connections")
        try Self.loopCounts.require(self.loops, "--loops")
        try Self.retryLimits.require(self.connectionRetryLimit, "--connection-retry-limit")
        try self.connectionRetryTime?.validate("--connection-retry-time", isZeroGood: true)
        try self.connectTimeout?.validate("--connect-timeout")
    }

    /// The number of event loops of a provider with this many connections.
    func loopCount(connections: Int) throws -> Int {
        guard let loops, loops > connections else { return self.loops ?? 1 }
        throw ValidationError("--loops \(loops) needs as many connections: give --connections \(loops) or more.")
    }

    /// Applies the given options to `options`.
    func apply(to options: inout BinaryOptions) {
        if let onUnknown { options.onUnknown = onUnknown == .resend ? .resend : .report }
        if let connections { options.maxConnections = connections }
        if let connectTimeout { options.connectTimeout = connectTimeout.duration }
        if let connectionRetryLimit {
            options.connectionRetryLimit = connectionRetryLimit.limit
            options.connectionRetryTime = nil
        }
        if let connectionRetryTime { options.connectionRetryTime = connectionRetryTime.duration.limit }
    }

    /// Applies the given options to `options`.
    func apply(to options: inout HTTP2Options) {
        if let onUnknown { options.onUnknown = onUnknown == .resend ? .resend : .report }
        if let connections { options.maxConnections = connections }
        if let connectTimeout { options.connectTimeout = connectTimeout.duration }
        if let connectionRetryLimit {
            options.connectionRetryLimit = connectionRetryLimit.limit
            options.connectionRetryTime = nil
        }
        if let connectionRetryTime { options.connectionRetryTime = connectionRetryTime.duration.limit }
    }
}

extension ClosedRange<Int> {
    /// Checks a number, if one was given.
    ///
    /// - Parameter option: its name, for the message.
    func require(_ number: Int?, _ option: String) throws {
        guard let number, !self.contains(number) else { return }
        throw ValidationError("\(option) takes \(self.lowerBound) to \(self.upperBound).")
    }
}

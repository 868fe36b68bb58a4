internal import ArgumentParser
internal import Ferry
internal import FerryHTTP2

/// Options of HTTP/2 only.
struct HTTP2OptionGroup: ParsableArguments {
    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            """
            How long a notification may take, all attempts together, but for the answer of the last. (default: \
            \(Seconds(HTTP2Options().deadline).defaultValueDescription))
            """,
            valueName: "seconds"
        )
    )
    var deadline: Seconds?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            """
            How long one answer may take. (default: \(Seconds(HTTP2Options().attemptTimeout).defaultValueDescription))
            """,
            valueName: "seconds"
        )
    )
    var attemptTimeout: Seconds?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            """
            How many requests may be under way on one connection, if APNs allows as many. (default: \
            \(HTTP2Options().maxStreams))
            """,
            valueName: "n"
        )
    )
    var streams: Int?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            """
            How long the peer may be silent before a PING. (default: \
            \(Seconds(HTTP2Options().pingInterval).defaultValueDescription))
            """,
            valueName: "seconds"
        )
    )
    var pingInterval: Seconds?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            """
            How long the peer may be silent before a PING goes before the next request, because a NAT may have forgotten \
            the connection. (default: \(Seconds(HTTP2Options().idleCheck).defaultValueDescription))
            """,
            valueName: "seconds"
        )
    )
    var idleCheck: Seconds?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            """
            How long a written request waits for a late answer while the peer answers PINGs. (default: no longer than \
            --attempt-timeout)
            """,
            valueName: "seconds"
        )
    )
    var lateAnswerLimit: Seconds?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            """
            The least time between two notifications to one device, because APNs keeps only the last for one that it \
            cannot reach. (default: none)
            """,
            valueName: "seconds"
        )
    )
    var deviceInterval: Seconds?

    @Flag(help: "Do not pause when APNs rejects one notification after the other, for which it closes connections.")
    var noCircuitBreaker = false

    @OptionGroup
    var proxy: ProxyOptions

    private static let streamCounts = 1...100_000

    func validate() throws {
        try Self.streamCounts.require(self.streams, "--streams")
        try self.deadline?.validate("--deadline")
        try self.attemptTimeout?.validate("--attempt-timeout")
        try self.pingInterval?.validate("--ping-interval")
        try self.idleCheck?.validate("--idle-check")
        try self.lateAnswerLimit?.validate("--late-answer-limit")
        try self.deviceInterval?.validate("--device-interval")
    }

    /// The options that were given.
    var given: [String] {
        [
            ("--deadline", self.deadline != nil), ("--attempt-timeout", self.attemptTimeout != nil),
            ("--streams", self.streams != nil), ("--ping-interval", self.pingInterval != nil),
            ("--idle-check", self.idleCheck != nil), ("--late-answer-limit", self.lateAnswerLimit != nil),
            ("--device-interval", self.deviceInterval != nil), ("--no-circuit-breaker", self.noCircuitBreaker),
            ("--proxy", self.proxy.proxy != nil),
        ].filter(\.1).map(\.0)
    }

    /// Applies the given options to `options`.
    func apply(to options: inout HTTP2Options) {
        if let deadline { options.deadline = deadline.duration }
        if let attemptTimeout { options.attemptTimeout = attemptTimeout.duration }
        if let streams { options.maxStreams = streams }
        if let pingInterval { options.pingInterval = pingInterval.duration }
        if let idleCheck { options.idleCheck = idleCheck.duration }
        if let lateAnswerLimit { options.lateAnswerLimit = lateAnswerLimit.duration }
        if let deviceInterval { options.devicePacing = deviceInterval.duration }
        if self.noCircuitBreaker { options.circuitBreaker = nil }
    }
}

internal import ArgumentParser
internal import Ferry
internal import FerryBinary

/// Options of the binary protocol only.
struct BinaryOptionGroup: ParsableArguments {
    enum Policy: String, ExpressibleByArgument, CaseIterable {
        case hold, evict
    }

    enum ProofOption: String, ExpressibleByArgument, CaseIterable {
        case automatic, silence, probe

        var proof: Proof {
            switch self {
            case .automatic: .automatic
            case .silence: .silence
            case .probe: .probe
            }
        }
    }

    @Option(help: "What a full cache does: hold writes back, or evict the oldest. (default: hold)")
    var cachePolicy: Policy?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "How many notifications may be written and not settled, at first. (default: \(BinaryOptions().cacheLength))",
            valueName: "n"
        )
    )
    var cacheLength: Int?

    @Flag(
        inversion: .prefixedNo,
        help: "Let the cache grow to --cache-limit, or keep it at --cache-length. (default: --auto-adjust)"
    )
    var autoAdjust: Bool?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            """
            How many notifications the cache may grow to. It bounds throughput to as many in --settle-time, and memory \
            to about 300 bytes for each. (default: \(Self.cacheLimit))
            """,
            valueName: "n"
        )
    )
    var cacheLimit: Int?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            """
            How long silence must last for acceptance to be presumed, in seconds; fractions are fine. (default: \
            \(Seconds(BinaryOptions().settleTime).defaultValueDescription))
            """,
            valueName: "seconds"
        )
    )
    var settleTime: Seconds?

    @Flag(help: "At the cache's limit prove acceptance with a probe instead of waiting.")
    var probeWhenHeld = false

    @Option(
        help: """
            How the last acceptances are found out: by silence, by a probe, or automatic: by silence and then a probe, and \
            by silence alone if the gateway does not answer it. (default: automatic)
            """
    )
    var proof: ProofOption?

    static let cacheLengths = 1...(1 << 30)
    private static let cacheLimit = 1 << 20

    func validate() throws {
        try Self.cacheLengths.require(self.cacheLength, "--cache-length")
        try Self.cacheLengths.require(self.cacheLimit, "--cache-limit")
        try self.settleTime?.validate("--settle-time")
    }

    /// The options that were given.
    var given: [String] {
        [
            ("--cache-policy", self.cachePolicy != nil), ("--cache-length", self.cacheLength != nil),
            ("--auto-adjust", self.autoAdjust == true), ("--no-auto-adjust", self.autoAdjust == false),
            ("--cache-limit", self.cacheLimit != nil), ("--settle-time", self.settleTime != nil),
            ("--probe-when-held", self.probeWhenHeld), ("--proof", self.proof != nil),
        ].filter(\.1).map(\.0)
    }

    /// Applies the given options to `options`.
    func apply(to options: inout BinaryOptions) {
        if let cachePolicy { options.cachePolicy = cachePolicy == .hold ? .hold : .evict }
        // The option counts notifications. The limit in bytes is derived from it, with the size of an ordinary
        // notification.
        let cacheLimit = self.cacheLimit ?? Self.cacheLimit
        options.cacheLimit.bytes = max(options.cacheLimit.bytes, cacheLimit * 256)
        options.cacheLimit.entries = cacheLimit
        if let settleTime { options.settleTime = settleTime.duration }
        options.probeWhenHeld = self.probeWhenHeld
        if let cacheLength { options.cacheLength = cacheLength }
        if let autoAdjust { options.autoAdjustCache = autoAdjust }
    }
}

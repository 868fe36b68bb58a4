/// The names of options, by what they are for.
enum OptionGroups {
    /// Options of which a new one replaces all: a server named by `host` has nothing of one named by `production`.
    struct Alternatives {
        /// Any of these names one.
        var naming: Set<String>
        var all: Set<String>
    }

    static let server = Alternatives(
        naming: ["host", "production"],
        all: ["host", "port", "production", "serverName", "feedbackHost", "feedbackPort"]
    )
    static let credentials = Alternatives(
        naming: ["p8", "cert", "pfx"],
        all: ["p8", "keyId", "teamId", "cert", "key", "pfx", "passphrase"]
    )

    /// Options of the handle, or of a migration, and not of a protocol.
    static let ofHandle: Set<String> = [
        "backend", "config", "outcomes", "events", "queueLimit", "wait", "atExit", "shared", "feedback", "feedbackHost",
        "feedbackPort",
    ]
    /// Options that say what the program reads.
    static let ofReading: Set<String> = ["outcomes", "events"]
    /// Options that handles of one shared provider may have different.
    static let ofOneHandle: Set<String> = ["outcomes", "queueLimit", "wait", "atExit", "shared", "share"]
    static let ofMigration: Set<String> = [
        "binary", "http2", "share", "fallback", "downAfter", "includesUnknown", "deadline", "loops",
    ]
    static let ofBinary: Set<String> = [
        "cacheLength", "autoAdjustCache", "cacheLimit", "cachePolicy", "buffersNotifications", "settleTime", "finality",
        "probeWhenHeld",
    ]
    static let ofHTTP2: Set<String> = [
        "production", "topic", "p8", "keyId", "teamId", "tokenFile", "attemptTimeout", "lateAnswerLimit",
        "pingInterval", "idleCheck", "devicePacing",
    ]
    static let ofBoth: Set<String> = [
        "host", "port", "serverName", "cert", "key", "pfx", "passphrase", "ca", "rejectUnauthorized", "maxConnections",
        "loops", "connectTimeout", "connectionRetryLimit", "deadline", "onUnknown",
    ]

    static let all = Self.ofHandle.union(Self.ofMigration).union(Self.ofBinary).union(Self.ofHTTP2).union(Self.ofBoth)
}

internal import FerryBinary
internal import FerryHTTP2

/// The options of a provider's behaviour. Each list is a part of the command line's help.
extension ProviderOption {
    private static let most: OptionKind = .count(1...(1 << 30))
    private static let binary = BinaryOptions()
    private static let http2 = HTTP2Options()

    private var ofGateway: Self {
        self.absent(in: .gateway, because: "the gateway decides how many connections there are, and how long to wait")
    }

    private static let isOld = "programs that use node-apn have it: see --config"

    package static let topic: [ProviderOption] = [
        .init("topic", .text, [.http2]).absent(in: .gateway, because: "each client has 'topics'")
            .help("The topic of lines that name none. Over HTTP/2 it is the app's bundle ID, and what their push type")
            .help("wants is appended.")
    ]

    package static let connections: [ProviderOption] = [
        .init("onUnknown", .choice(["resend", "report"]), .both)
            .sets(
                binary: { $0.onUnknown = $1.text == "resend" ? .resend : .report },
                http2: { $0.onUnknown = $1.text == "resend" ? .resend : .report }
            )
            .help("What was written when nothing says whether it arrived: resend it, or report it as uncertain.")
            .by(default: "resend; report with --backend http2")
            .absent(in: .gateway, because: "'repeatsUnknown' says it for each client"),
        .init("maxConnections", .count(1...1000), .both).named("connections", in: .commandLine).inNodeAPN().ofGateway
            .sets(binary: { $0.maxConnections = $1.count }, http2: { $0.maxConnections = $1.count })
            .help("How many connections there may be.").by(default: "\(Self.binary.maxConnections)"),
        .init("loops", .count(1...64), [.binary, .http2, .migration]).ofGateway
            .help("On how many threads to send, each with its part of the devices and of --connections: 1 to 64.")
            .by(default: "1"),
        .init("connectTimeout", .seconds, .both).inNodeAPN().ofGateway
            .sets(binary: { $0.connectTimeout = $1.time }, http2: { $0.connectTimeout = $1.time })
            .help("How long connecting may take.").by(default: Self.binary.connectTimeout),
        .init("connectionRetryLimit", .limit(upTo: 1 << 30), .both).inNodeAPN().ofGateway
            // A limit on the number of failures replaces an earlier limit on their time.
            .sets(
                binary: { ($0.connectionRetryLimit, $0.connectionRetryTime) = ($1.limit, nil) },
                http2: { ($0.connectionRetryLimit, $0.connectionRetryTime) = ($1.limit, nil) }
            )
            .help("How many failures to connect in a row are allowed; with one more the run ends, and time does not")
            .help("unless --connection-retry-time is given, too. 0 sets no limit.").by(default: "0"),
        .init("connectionRetryTime", .timeLimit, .both).ofGateway
            .sets(binary: { $0.connectionRetryTime = $1.timeLimit }, http2: { $0.connectionRetryTime = $1.timeLimit })
            .help("How long failures to connect in a row may go on before the run ends. 0 sets no limit.")
            .by(default: "30.0; none with --connection-retry-limit")
            .absent(in: .c, because: "a program counts with 'connectionRetryLimit', as with node-apn"),
    ]

    package static let binaryProtocol: [ProviderOption] = [
        .init("cachePolicy", .choice(["hold", "evict"]), [.binary])
            .sets(binary: { $0.cachePolicy = $1.text == "hold" ? .hold : .evict })
            .help("What a full cache does: hold writes back, or evict the oldest.").by(default: "hold"),
        .init("cacheLength", Self.most, [.binary]).inNodeAPN().sets(binary: { $0.cacheLength = $1.count })
            .help("How many notifications may be written and not settled, at first.")
            .by(default: "\(Self.binary.cacheLength)"),
        .init("autoAdjustCache", .flag, [.binary]).named("auto-adjust", in: .commandLine).flag(.onAndOff).inNodeAPN()
            .sets(binary: { $0.autoAdjustCache = $1.isOn })
            .help("Let the cache grow to --cache-limit, or keep it at --cache-length.").by(default: "--auto-adjust"),
        // The option counts notifications. The limit in bytes is 256 for each, the size of an ordinary notification.
        .init("cacheLimit", Self.most, [.binary])
            .sets(binary: { $0.cacheLimit = .init(entries: $1.count, bytes: $1.count * 256) })
            .help("How many notifications the cache may grow to. It bounds throughput to as many in --settle-time, and")
            .help("memory to about 300 bytes for each.").by(default: "\(1 << 20)"),
        .init("settleTime", .seconds, [.binary]).sets(binary: { $0.settleTime = $1.time })
            .help("How long silence must last for acceptance to be presumed, in seconds; fractions are fine.")
            .by(default: Self.binary.settleTime),
        .init("probeWhenHeld", .flag, [.binary]).sets(binary: { $0.probeWhenHeld = $1.isOn })
            .help("At the cache's limit prove acceptance with a probe instead of waiting."),
        .init("proof", .choice(["automatic", "silence", "probe"]), [.binary])
            .help("How the last acceptances are found out: by silence, by a probe, or automatic: by silence and then a")
            .help("probe, and by silence alone if the gateway does not answer it.").by(default: "automatic")
            .absent(in: .c, because: "'finality': a program has no last line"),
        .init("finality", .choice(["silence", "proof"]), [.binary])
            .sets(binary: { $0.finality = $1.text == "proof" ? .proof : .silence })
            .absent(in: .commandLine, because: "--proof and --probe-when-held"),
        .init("buffersNotifications", .flag, [.binary]).inNodeAPN().sets(binary: { $0.buffersNotifications = $1.isOn })
            .absent(in: .commandLine, because: Self.isOld),
        .init("command", .choice(["frame", "enhanced", "simple"]), [.binary]).inNodeAPN("legacy")
            .sets(binary: { $0.command = $1.text == "simple" ? .simple : $1.text == "enhanced" ? .enhanced : .frame })
            .absent(in: .commandLine, .c, because: Self.isOld),
        .init("payloadLimit", .count(1...4096), [.binary]).inNodeAPN("voip")
            .sets(binary: { $0.payloadLimit = $1.count }).absent(in: .commandLine, .c, because: Self.isOld),
        .init("idleTimeout", .timeLimit, [.binary]).inNodeAPN("connectionTimeout")
            .sets(binary: { $0.idleTimeout = $1.timeLimit }).absent(in: .commandLine, .c, because: Self.isOld),
    ]

    package static let http2Protocol: [ProviderOption] = [
        .init("deadline", .seconds, [.binary, .http2, .migration]).ofGateway
            .sets(binary: { $0.deadline = $1.time }, http2: { $0.deadline = $1.time })
            .help("How long a notification may take, all attempts together, but for the answer of the last.")
            .by(default: Self.http2.deadline),
        .init("attemptTimeout", .seconds, [.http2]).ofGateway.sets(http2: { $0.attemptTimeout = $1.time })
            .help("How long one answer may take.").by(default: Self.http2.attemptTimeout),
        .init("maxStreams", .count(1...100_000), [.http2]).named("streams", in: .commandLine).ofGateway
            .sets(http2: { $0.maxStreams = $1.count })
            .help("How many requests may be under way on one connection, if APNs allows as many.")
            .by(default: "\(Self.http2.maxStreams)")
            .absent(in: .c, because: "'queueLimit' bounds a program, and APNs' SETTINGS each connection"),
        .init("pingInterval", .seconds, [.http2]).sets(http2: { $0.pingInterval = $1.time })
            .help("How long the peer may be silent before a PING.").by(default: Self.http2.pingInterval),
        .init("idleCheck", .seconds, [.http2]).sets(http2: { $0.idleCheck = $1.time })
            .help("How long the peer may be silent before a PING goes before the next request, because a NAT may have")
            .help("forgotten the connection.").by(default: Self.http2.idleCheck),
        .init("lateAnswerLimit", .seconds, [.http2]).ofGateway.sets(http2: { $0.lateAnswerLimit = $1.time })
            .help("How long a written request waits for a late answer while the peer answers PINGs.")
            .by(default: "no longer than --attempt-timeout"),
        .init("devicePacing", .seconds, [.http2]).named("device-interval", in: .commandLine).ofGateway
            .sets(http2: { $0.devicePacing = $1.time })
            .help("The least time between two notifications to one device, because APNs keeps only the last for one")
            .help("that it cannot reach.").by(default: "none"),
        .init("circuitBreaker", .flag, [.http2]).named("no-circuit-breaker", in: .commandLine).flag(.off).ofGateway
            .sets(http2: { if !$1.isOn { $0.circuitBreaker = nil } })
            .help("Do not pause when APNs rejects one notification after the other, for which it closes connections.")
            .absent(in: .c, because: "a person at the command line sees what is rejected; a service pauses"),
    ]
}

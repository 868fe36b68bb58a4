internal import Ferry
internal import FerryCore
internal import FerryOptions
internal import FerryTerminal

extension NodeAPNOption {
    /// All options of node-apn 1.x, in order of precedence: if two options set the same thing, the first wins.
    ///
    /// Compat/node-apn.md has the same table for people.
    static let all = Self.all(for: .push)

    static func all(for use: Use) -> [NodeAPNOption] {
        let sending = Self.protocolOptions + Self.connections
        let shared = Self.credentials(for: use) + Self.server(for: use)
        return switch use {
        case .push: shared + sending + Self.feedback + Self.neverThere
        case .pushHTTP2: shared + (sending + Self.feedback).map(\.overHTTP2) + Self.neverThere
        case .feedback:
            shared + (sending + Self.neverThere).map { $0.without("of sending: see ferry push") } + Self.reading
        case .doctor:
            shared
                + (sending + Self.feedback + Self.neverThere).map { $0.without("nothing to look at: see ferry push") }
        }
    }

    /// The same option without effect.
    private func without(_ reason: String) -> NodeAPNOption { NodeAPNOption(self.name, .nothing(reason)) }

    /// The same option as far as it has a meaning over HTTP/2.
    private var overHTTP2: NodeAPNOption {
        switch self.name {
        case "maxConnections", "connectTimeout", "connectionRetryLimit", "minConnections": self
        case "connectionTimeout": self.without("over HTTP/2 connections stay open, as Apple asks")
        case "voip": self.without("over HTTP/2 the push type decides how long a payload may be")
        case "interval", "batchFeedback", "batchSize", "feedback":
            self.without("over HTTP/2 status 410 in --events says that a device is gone")
        case "errorCallback", "disableNagle": self
        default: self.without("of the binary protocol")
        }
    }

    private static func credentials(for use: Use) -> [NodeAPNOption] {
        let identity = ["--cert", "--p12"] + (use == .pushHTTP2 ? ["--p8", "--provider-token-file"] : [])
        let archive = Self.file("--p12", \.archive, behind: "pfx")
        let certificate = Self.file("--cert", \.certificate, behind: "cert")
        let key = Self.file("--key", \.key, behind: "key")
        return [
            .init("pfx", or: identity, .material, archive), .init("pfxData", or: identity, .material, archive),
            .init("cert", or: identity, .material, certificate),
            .init("certData", or: identity, .material, certificate),
            .init("key", or: identity, .material, key), .init("keyData", or: identity, .material, key),
            .init("passphrase", or: identity + ["--passphrase-file"], .value(.secret)) {
                $1.passphrase = $0.value.text
                return "as the first line of --passphrase-file"
            },
        ]
    }

    /// - Parameters:
    ///   - option: the option of the command line.
    ///   - first: the option of node-apn that counts if two options name this file.
    private static func file(
        _ option: String,
        _ field: any WritableKeyPath<NodeAPNSettings, CredentialMaterial?> & Sendable,
        behind first: String
    ) -> Setter {
        { input, settings in
            if settings.archive != nil { return "not used, pfx comes first" }
            if settings[keyPath: field] != nil { return "not used, \(first) comes first" }
            settings[keyPath: field] = input.materials.first
            return "as \(option) \(input.shown)"
        }
    }

    private static func server(for use: Use) -> [NodeAPNOption] {
        if use == .pushHTTP2 { return Self.serverOverHTTP2 }
        let isOfDoctor = use == .doctor
        let place = isOfDoctor ? ["HOST:PORT"] : ["--to", "--production", "--sandbox"]
        let target = isOfDoctor ? "HOST:PORT" : "--to"
        return [
            .init("gateway", or: place, .host) { Self.host($0, target, &$1) },
            .init("address", or: place, .host) { Self.host($0, target, &$1) },
            .init("port", or: place, .row()) { _, _ in "the port of \(target)" },
            .init("production", or: place, .value(.flag)) {
                if $1.host != nil { return "not used, the address says where to connect" }
                let remark = Self.production($0, &$1)
                return isOfDoctor ? "Apple's gateway for \($0.value.isOn ? "production" : "development")" : remark
            },
            Self.authorities,
            isOfDoctor
                ? .init("rejectUnauthorized", .nothing("the server's certificate is looked at in any case"))
                : Self.rejectUnauthorized,
        ]
    }

    private static let serverOverHTTP2: [NodeAPNOption] = {
        let place = ["--to", "--production", "--sandbox"]
        let isGateway = "of the binary protocol: name a server of HTTP/2 with --to, or use Apple's by production"
        return [
            .init("gateway", or: place, .nothing(isGateway)), .init("address", or: place, .nothing(isGateway)),
            .init("port", or: place, .nothing(isGateway)),
            .init("production", or: place, .value(.flag), Self.production), Self.authorities, Self.rejectUnauthorized,
        ]
    }()

    private static func production(_ input: Input, _ settings: inout NodeAPNSettings) -> String {
        settings.production = input.value.isOn
        return input.value.isOn ? "as --production" : "as --sandbox"
    }

    private static let authorities = NodeAPNOption("ca", .materials) {
        $1.authorities = $0.materials
        return "as --ca \($0.shown)"
    }

    private static let rejectUnauthorized = NodeAPNOption("rejectUnauthorized", .value(.flag)) {
        $1.rejectUnauthorized = $0.value.isOn
        return $0.value.isOn
            ? "the server's certificate is checked, as always without it"
            : "warning: anyone may answer as the server; use --ca instead, except in a test"
    }

    private static func host(_ input: Input, _ target: String, _ settings: inout NodeAPNSettings) -> String {
        if settings.host != nil { return "not used, gateway comes first" }
        settings.host = input.value.text
        return "the host of \(target)"
    }

    private static let protocolOptions: [NodeAPNOption] = [
        .init("legacy", .value(.flag)) {
            guard $0.value.isOn else { return "command 2, as always without it" }
            $1.options["command"] = .text("enhanced")
            return "notifications go out with command 1, without a priority"
        },
        .init("enhanced", .value(.flag)) {
            guard $1.options["command"] != nil else { return "no meaning without legacy" }
            guard !$0.value.isOn else { return "command 1, as always with legacy" }
            $1.options["command"] = .text("simple")
            return "with legacy, command 0: no error response names a notification"
        },
        .init("voip", .value(.flag)) {
            let limit = $0.value.isOn ? 4096 : BinaryOptions().payloadLimit
            $1.options["payloadLimit"] = .number(Double(limit))
            return "payloads may have \(limit) bytes"
        },
        .init("cacheLength", .row(isClamped: true)) { input, _ in
            "as --cache-length \(input.value.count), which counts with --no-auto-adjust or --cache-policy evict"
        },
        .init("autoAdjustCache", .row()),
        .init("buffersNotifications", .row()) { input, _ in
            input.value.isOn
                ? "what the gateway discards behind an error is sent again, as always without it"
                : "what the gateway discards behind an error is not sent again and ends as undelivered or uncertain"
        },
        .init("fastMode", .nothing("always: what is ready is written together")),
        .init("disableNagle", .nothing("always: TCP_NODELAY is set")),
        .init("disableEPIPEFix", .nothing("nothing to switch off: error responses are read although writing failed")),
        .init("errorCallback", .nothing("no function stands in JSON; --events has a line for each outcome")),
    ]

    /// The time for which Linux itself tries to connect: six repeats of the SYN. node-apn's `connectTimeout: 0` leaves
    /// the limit to the system.
    private static let linuxConnectTime: Duration = .seconds(127)

    private static let connections: [NodeAPNOption] = [
        .init("maxConnections", .row(isClamped: true)),
        .init("minConnections", .nothing("connections come with work, and none is kept open without it")),
        .init("connectTimeout", .milliseconds) {
            let time = $0.value.time
            $1.options["connectTimeout"] = .number((time.limit ?? Self.linuxConnectTime) / .seconds(1))
            return time == .zero
                ? "no limit there, 127 seconds here" : "as --connect-timeout \($0.value.number.shortest)"
        },
        .init("connectionTimeout", .milliseconds) {
            let isNever = $0.value == .number(0)
            $1.options["idleTimeout"] = isNever ? .null : $0.value
            return isNever
                ? "an idle connection is never closed"
                : "an idle connection is closed after \($0.value.number.shortest) seconds"
        },
        .init("connectionRetryLimit", .row()),
    ]

    private static let feedback: [NodeAPNOption] = [
        .init("interval", .seconds) { input, _ in
            input.value == .number(0)
                ? "of feedback: see ferry feedback, which reads once"
                : "of feedback: see ferry feedback --every \(input.value.number.shortest)"
        },
        .init("batchFeedback", .nothing("of feedback: see ferry feedback, which writes each device as it is read")),
        .init("batchSize", .nothing("of feedback: see ferry feedback, which writes each device as it is read")),
        .init("feedback", .nothing("of feedback: see ferry feedback, which writes a line for each device")),
    ]

    /// The options of ``feedback``, for the command that reads the feedback list.
    private static let reading: [NodeAPNOption] = [
        .init("interval", or: ["--every"], .seconds) {
            $1.interval = $0.value.time
            return $0.value == .number(0)
                ? "the list is read once, as without --every" : "as --every \($0.value.number.shortest)"
        },
        .init("batchFeedback", .nothing("each device is written as it is read")),
        .init("batchSize", .nothing("each device is written as it is read")),
        .init("feedback", .nothing("no function stands in JSON; there is a line for each device")),
    ]

    /// Names that people try, although version 1.7.8 does not know them either.
    private static let neverThere: [NodeAPNOption] = [
        .init("largePayloads", .nothing("no option of node-apn 1.x; payloads may have 2048 bytes, 4096 with voip")),
        .init("connectionRetryDelay", .nothing("no option of node-apn 1.x; waits double from 0.25 to 30 seconds")),
        .init("slowErrorHandling", .nothing("no option of node-apn 1.x; see --settle-time")),
    ]
}

extension NodeAPNOption.Input {
    /// The names of the files.
    fileprivate var shown: String {
        self.materials.map { material in
            switch material {
            case .file(let path): FileName(path).shown ?? "with a file, whose name is not shown"
            case .bytes: "with what stands here"
            }
        }.joined(separator: ", ")
    }
}

internal import ArgumentParser
internal import Ferry
internal import FerryCore
internal import FerryForwarding
internal import FerryGateway
internal import FerryOpenSSL
internal import FerryOptions
internal import FerryPlatform
internal import FerryServer
internal import FerryShards
internal import FerryTerminal

/// The command `ferry gateway`.
struct GatewayCommand: AsyncParsableCommand, ListeningCommand {
    static let configuration = CommandConfiguration(
        commandName: "gateway",
        abstract: "Takes the binary protocol from an old stack, and delivers over HTTP/2.",
        discussion: """
            Old clients connect as they did to Apple's gateway. Prints the bound ports as one JSON line as soon as it \
            listens, and runs until SIGINT or SIGTERM. At SIGHUP it reads the configuration again, unless it was started in \
            a terminal, whose end it shares. With a 'store', nothing that was \
            read is lost when the process is killed. Under systemd, it takes the sockets 'binary' and 'feedback'.

            A configuration:
              {"listen": {"port": 2195, "feedbackPort": 2196, "cert": "server.pem", "key": "server-key.pem"},
               "upstreams": {"apns": {"p8": "AuthKey_ABCDE12345.p8", "keyID": "ABCDE12345", "teamID": "FGHIJ67890"}},
               "clients": [{"name": "shop", "cert": "push.pem", "topics": ["com.example.shop"]}],
               "rejections": "rejections.jsonl", "store": {"path": "gateway.db"}, "admin": {"port": 2199}}

            Other members are 'host', 'clientCA', 'legacyTLS', 'serverNames' and 'upstream' in 'listen', which may be a \
            list of such objects; 'to', 'ca', 'sandbox', 'cert', 'key', \
            'proxy', 'proxyUser', 'proxyPasswordFile', 'pingInterval' and 'idleCheck' in an upstream; 'fingerprints', \
            'userID', 'anyone', 'upstream', 'mode', 'resends' and 'repeatsUnknown' in a client; 'fsync', \
            'postgres', 'node', 'away' and 'rejections' in 'store'; \
            'socket', 'host', 'tokenFile', 'cert' and 'key' in 'admin'; 'repeatsUnknown' and 'logLevel'. \
            Docs/commands/gateway.md says what each means.

            Examples:
              ferry gateway --config gateway.json
              ferry gateway --config gateway.json --check --connect
              ferry gateway status --config gateway.json
              ferry gateway waiting --config gateway.json
              ferry gateway backup copy.db --config gateway.json
              ferry gateway reload --config gateway.json
            """,
        subcommands: [
            GatewayStatusCommand.self, GatewayTopCommand.self, GatewayWaitingCommand.self, GatewayLettersCommand.self,
            GatewayBackupCommand.self, GatewayReloadCommand.self,
        ]
    )

    @Option(help: ArgumentHelp("The configuration, a JSON object. Its paths are relative to it.", valueName: "file"))
    var config: String?

    @Flag(help: "Check the configuration and the credentials, and exit.")
    var check = false

    @Flag(help: "With --check: connect to each upstream with its credentials, too. Nothing is pushed.")
    var connect = false

    @OptionGroup(title: "Messages")
    var log: LogOptions

    /// How long a shutdown may take. Without a store, it waits for the clients' end and for the answers of APNs. With
    /// a store, it may take this long if the store hangs.
    static let shutdownLimit: Duration = .seconds(30)

    // The listener itself limits the connections of clients to the descriptors that are left.
    var socketCount: Int { 64 }

    func run() async throws {
        self.log.apply()
        try await self.reportingFailure { try await self.serve() }
    }

    private func serve() async throws {
        guard let config else {
            throw CommandFailure.usage("Missing expected argument '--config <file>'")
        }
        guard self.check || !self.connect else { throw CommandFailure.usage("--connect needs --check.") }
        var tokens = TokenSources()
        var plan = try Self.plan(of: config, tokens)
        if let database = plan.database {
            // All gateways of a fleet have one token for each key.
            tokens = TokenSources(sharedIn: PostgresTokens(connection: database.connection, node: database.node))
            plan = try Self.plan(of: config, tokens)
        }
        if let level = plan.logLevel { LogPolicy.current.level = level }
        for key in plan.keys { key.warnIfOpen(holding: "a private key") { MessageWriter.shared.write($0) } }
        plan.sayProxies { MessageWriter.shared.write($0) }
        let notes = GatewayAdminService.Notes()
        if let database = plan.database, !self.check {
            return try await self.serve(plan, of: config, tokens, on: database, notes)
        }
        let upstreams = try zip(plan.upstreamNames, plan.upstreams).map { name, upstream in
            try Self.upstream(upstream, name, write: notes.write)
        }
        if self.check {
            let now = Date.now
            try plan.requireValidListener(at: now)
            var warnings = CertificateWarnings(plan.certificates)
            for entry in warnings.timePassed(at: now) { MessageWriter.shared.write(.certificateEnds(entry, at: now)) }
            if let path = plan.rejections { try GatewayOutput.check("'rejections'", path) }
            if let store = plan.store { try GatewayOutput.check("'store.path'", store.path) }
            await MessageWriter.shared.flush(within: .seconds(1))
            if self.connect {
                if let database = plan.database { try await Self.check(database, plan) }
                try await Self.tryUpstreams(of: plan)
            }
            return try Console.print("\(config): good")
        }
        let service = try ServiceManager(sockets: ["binary", "feedback"])
        try FileDescriptorLimit.require(sockets: GatewayRoom.needed(upstreams: upstreams.count))
        let messages = GatewayMessages(
            clients: [],
            firstTopics: [],
            upstreams: [],
            list: plan.rejections,
            isStored: plan.store != nil,
            write: notes.write
        )
        var configuration = plan.gateway
        configuration.succession = service.succession
        try configuration.pass(binary: service.socket("binary"), feedback: service.socket("feedback"))
        configuration.list = try plan.rejections.map {
            try Self.list($0, survivesPowerLoss: plan.store?.fsync ?? false)
        }
        configuration.onEvent = { event, counts in messages.say(event, counts) }
        configuration.store = plan.store.map { store in
            SQLiteStore(path: store.path, survivesPowerLoss: store.fsync) {
                MessageWriter.shared.write(.warning(ServerLogEvent.storeWarning, "\($0)", [.reason: .text("\($0)")]))
            }
        }
        // Events of the start name clients and upstreams, too.
        messages.take(.init(configuration.tables(upstreams: upstreams.count), isLegacy: plan.isLegacy))
        let gateway = try await self.start(configuration, upstreams)
        messages.take(.init(gateway.tables, isLegacy: plan.isLegacy))
        messages.sayStart(try await gateway.counts, copiedAt: gateway.copiedAt)
        var holding = plan
        holding.gateway = configuration
        let reloader = GatewayReloader(
            config,
            holding,
            tokens,
            gateway,
            upstreams.map(\.watch),
            notes,
            service,
            level: self.log.logLevel,
            rename: { messages.take($0) },
            statusLine: { Self.statusLine(of: gateway) }
        )
        let adminPort: Int?
        do {
            adminPort = try await reloader.startAdmin()
        } catch {
            await reloader.close()
            _ = await gateway.shutDown(within: .zero)
            for upstream in upstreams { _ = await upstream.provider.shutDown(within: .zero) }
            throw error
        }
        let ports = Self.ports(gateway, admin: adminPort, isList: plan.isListenList)
        let line = GatewayProgress.show(gateway)
        // A terminal that closes sends SIGHUP, and a gateway that runs in a terminal ends with it.
        let isInWindow = Console.isTerminal || Console.isInputTerminal
        // SIGHUP is heard until the shutdown is over: a reload during the shutdown is refused, with a message.
        let hangUps = isInWindow ? nil : Signals.eachHangUp { Task { await reloader.reload() } }
        let status = Self.statusLine(of: gateway)
        try await service.waitForEnd(status, on: gateway.eventLoop, hangUpEnds: isInWindow) {
            try Console.print(ports)
        }
        // The stop of the admin service waits for answers that are being made. The answer to a backup could take
        // long.
        gateway.giveUpCopy()
        await reloader.close()
        await line?.end()
        messages.sayStop(try await gateway.counts, within: Self.shutdownLimit)
        await reloader.stopAdmin()
        let isKept = await gateway.shutDown(within: Self.shutdownLimit)
        let counts = try await gateway.counts
        await gateway.shutDownUpstreams(within: .seconds(1))
        messages.sayEnd(counts, kept: plan.store == nil ? 0 : counts.unanswered)
        withExtendedLifetime(hangUps) {}
        await MessageWriter.shared.flush(within: .seconds(1))
        guard isKept, counts.unlisted == 0 else { throw ExitStatus.notAllAccepted }
    }

    /// Tries each upstream, and prints a line for each.
    ///
    /// - Throws: ``ExitStatus`` with `noConnection` when one cannot be used.
    private static func tryUpstreams(of plan: GatewayPlan) async throws {
        let results = await UpstreamTrials(plan).run()
        for (name, verdict) in results {
            switch verdict {
            case .usable(let words): try Console.print("upstreams.\(name): \(words)")
            case .failed(let reason, _): Console.error("ferry: upstreams.\(name): it cannot be used: \(reason)")
            }
        }
        let isGood = results.allSatisfy { if case .usable = $0.verdict { true } else { false } }
        guard isGood else { throw ExitStatus.noConnection }
    }

    static func list(_ path: String, survivesPowerLoss: Bool) throws(CommandFailure) -> ListFile {
        do throws(ListFile.Fault) {
            return try ListFile(path: path, survivesPowerLoss: survivesPowerLoss)
        } catch {
            throw .usage("'rejections': \(path) cannot be written: \(error)")
        }
    }

    /// The state that the service manager shows.
    static func statusLine(of gateway: Gateway) -> String {
        "Takes clients on \(gateway.clientAddresses.joined(separator: ", "))."
    }

    /// The bound ports as one JSON object. A configuration with a list of listeners also gets a list.
    private static func ports(_ gateway: Gateway, admin: Int?, isList: Bool) -> String {
        func members(_ ports: [(String, Int?)]) -> [String] {
            ports.compactMap { name, port in port.map { "\"\(name)\":\($0)" } }
        }
        var parts = members([("binary", gateway.port), ("feedback", gateway.feedbackPort), ("admin", admin)])
        if isList {
            let listeners = gateway.doorPorts.map { ports in
                "{\(members([("binary", ports.binary), ("feedback", ports.feedback)]).joined(separator: ","))}"
            }
            parts.append("\"listen\":[\(listeners.joined(separator: ","))]")
        }
        return "{\(parts.joined(separator: ","))}"
    }

    /// Makes the upstream with this name.
    static func upstream(
        _ configuration: HTTP2Configuration,
        _ name: String,
        write: @escaping @Sendable (LogMessage) -> Void
    ) throws -> GatewayUpstream {
        var configuration = configuration
        let watch = UpstreamWatch()
        configuration.logger = UpstreamLog.logger(name, watch, write: write)
        do {
            return try GatewayUpstream.over(
                http2: configuration,
                watch: watch,
                sideLogger: UpstreamLog.sideLogger(name)
            )
        } catch {
            throw CommandFailure.usage("upstreams.\(name): \(Sentence.of(error))")
        }
    }

    /// Reads the configuration.
    ///
    /// - Parameter tokens: the sources of provider tokens of a running gateway.
    static func plan(of config: String, _ tokens: TokenSources = TokenSources()) throws -> GatewayPlan {
        var files = ReadFiles()
        files.note(config)
        let bytes = try ConfigurationFile.contents(of: config)
        if let fault = bytes.withUnsafeBufferPointer({ JSONScanner.faultInObject($0) }) {
            let line = bytes.prefix(fault.offset).count { $0 == UInt8(ascii: "\n") } + 1
            throw CommandFailure.usage("\(config):\(line): \(fault)")
        }
        let file: GatewayFile
        do throws(OptionFault) {
            file = try GatewayFile(bytes)
        } catch {
            throw CommandFailure.usage(error.sentence)
        }
        var plan = try GatewayPlan(
            file,
            directory: URL(filePath: config).deletingLastPathComponent(),
            tokens: tokens
        )
        try plan.requireOwnFiles(beside: config)
        plan.files.add(files)
        return plan
    }

    private func start(_ configuration: Gateway.Configuration, _ upstreams: [GatewayUpstream]) async throws -> Gateway {
        do {
            return try await Gateway.start(configuration, upstreams: upstreams)
        } catch let error as StoreError {
            throw CommandFailure.usage(error.description)
        } catch let fault as ListenFault {
            throw CommandFailure.usage(
                "\(Endpoint.text(fault.host, fault.port)) cannot be listened on: \(Sentence.of(fault.cause))"
            )
        } catch {
            throw CommandFailure.usage(
                "\(Endpoint.text(configuration.host, configuration.port)) cannot be listened on: \(Sentence.of(error))"
            )
        }
    }
}

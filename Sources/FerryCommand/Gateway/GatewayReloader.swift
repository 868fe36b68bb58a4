internal import Ferry
internal import FerryAdmin
internal import FerryCore
internal import FerryForwarding
internal import FerryGateway
internal import FerryOpenSSL
internal import FerryPlatform
internal import FerryServer
internal import FerryTerminal

/// Reads the configuration of a running gateway again, one reload at a time.
///
/// ```
///   read all files ──▶ bind, make providers ──▶ switch ──▶ say what changed
///         └───────────────────┴── a failure ──▶ say why nothing changed
/// ```
actor GatewayReloader {
    /// The present configuration. The index of an address or a watch is the number of the upstream in the gateway.
    private struct Present {
        var plan: GatewayPlan
        var addresses: [(name: String, address: String)]
        var watches: [UpstreamWatch]
        var removed: Set<Int> = []
    }

    private let config: String
    private let tokens: TokenSources
    private let gateway: any AdministeredGateways
    /// Takes the names of a configuration once it is in effect.
    private let rename: @Sendable (GatewayMessages.Names) -> Void
    /// The state that the service manager shows.
    private let statusLine: @Sendable () -> String
    private let notes: GatewayAdminService.Notes
    private let service: ServiceManager
    /// The level of the command line, for a configuration without one.
    private let level: LogMessage.Level
    private var present: Present
    private var admin: GatewayAdminService?
    private(set) var watching: Task<Void, Never>
    /// The trials of the upstreams, by their names.
    private(set) var trying: [String: Task<Void, Never>]
    private var last: Task<ReloadAnswer, Never>?
    private var isEnding = false

    init(
        _ config: String,
        _ plan: GatewayPlan,
        _ tokens: TokenSources,
        _ gateway: any AdministeredGateways,
        _ watches: [UpstreamWatch],
        _ notes: GatewayAdminService.Notes,
        _ service: ServiceManager,
        level: LogMessage.Level,
        rename: @escaping @Sendable (GatewayMessages.Names) -> Void,
        statusLine: @escaping @Sendable () -> String
    ) {
        self.config = config
        self.tokens = tokens
        self.gateway = gateway
        self.rename = rename
        self.statusLine = statusLine
        self.notes = notes
        self.service = service
        self.level = level
        self.present = Present(plan: plan, addresses: plan.upstreamAddresses, watches: watches)
        self.watching = CertificateWatch.start(plan.certificates) { MessageWriter.shared.write($0) }
        self.trying = UpstreamTrials(plan).start(
            Dictionary(zip(plan.upstreamNames, watches), uniquingKeysWith: { first, _ in first }),
            write: notes.write
        )
    }

    /// Begins to answer on the admin socket and the admin port. Returns the bound port; nil without a port.
    func startAdmin() async throws -> Int? {
        self.admin = try await GatewayAdminService.start(self.present.plan, self.gateway, self.surroundings)
        return self.admin?.service.port
    }

    /// Makes every later reload change nothing, and ends all watches and trials. A reload that is under way begins no
    /// new ones, because nobody would end them. Call it as soon as the shutdown has begun.
    func close() {
        self.isEnding = true
        self.watching.cancel()
        for task in self.trying.values { task.cancel() }
        self.trying = [:]
    }

    /// Stops answering on the admin socket and the admin port.
    func stopAdmin() async { await self.admin?.service.stop() }

    /// Reads the configuration again, after all earlier calls have ended.
    @discardableResult
    func reload() async -> ReloadAnswer {
        let before = self.last
        let task = Task { () -> ReloadAnswer in
            _ = await before?.value
            return await self.perform()
        }
        self.last = task
        return await task.value
    }

    private func perform() async -> ReloadAnswer {
        // The service manager has heard of the end, and must not hear of a start after that.
        guard !self.isEnding else { return self.refuse(Self.ending) }
        await self.service.reloading()
        let answer: ReloadAnswer
        do {
            answer = try await self.change()
            self.notes.refusedReload(nil)
            MessageWriter.shared.write(LogMessage(GatewayLogEvent.reloaded, .notice, answer.sentence))
        } catch {
            answer = self.refuse(await self.sentence(of: error))
        }
        if !self.isEnding { await self.service.reloaded(self.statusLine()) }
        return answer
    }

    /// Notes and says why a reload changed nothing.
    private func refuse(_ sentence: String) -> ReloadAnswer {
        self.notes.refusedReload(sentence)
        MessageWriter.shared.write(
            .warning(
                GatewayLogEvent.reloadRefused,
                "the reload changed nothing: \(sentence)",
                [.reason: .text(sentence)]
            )
        )
        return ReloadAnswer(isTaken: false, sentence)
    }

    private static let ending = "The gateway ends."

    private func sentence(of error: any Error) async -> String {
        switch error {
        case let failure as CommandFailure: return failure.message
        case let fault as ReloadFault: return fault.description
        case let fault as ListenFault:
            let end = await self.isOwn(fault) ? AdminService.ownPort : ""
            return "\(Endpoint.text(fault.host, fault.port)) cannot be listened on: \(Sentence.of(fault.cause))\(end)"
        default: return Sentence.of(error)
        }
    }

    /// Whether this gateway has the port that cannot be bound, at another address.
    private func isOwn(_ fault: ListenFault) async -> Bool {
        guard Listener.isTaken(fault.cause) else { return false }
        return await self.gateway.openPorts.contains { $0.binary == fault.port || $0.feedback == fault.port }
    }

    // MARK: The change

    private func change() async throws -> ReloadAnswer {
        self.tokens.begin()
        let plan = try await Self.plan(of: self.config, self.tokens)
        try plan.requireValidListener(at: Date.now)
        try self.requireSame(plan)
        if let database = plan.database { try await GatewayCommand.check(database, plan) }
        for key in plan.keys { key.warnIfOpen(holding: "a private key") { MessageWriter.shared.write($0) } }
        var configuration = plan.gateway
        let held = self.present.plan.gateway
        try configuration.pass(binary: held.passed, feedback: held.passedFeedback)
        let port = try await self.admin?.service.prepare(plan.admin)
        let made = Locked<[Int: UpstreamWatch]>([:])
        let write = self.notes.write
        let reloaded: Gateway.Reloaded
        do {
            reloaded = try await self.gateway.reload(configuration) { place, right in
                var settings = plan.upstreams[place]
                if let right { settings.right = right }
                let upstream = try GatewayCommand.upstream(settings, plan.upstreamNames[place], write: write)
                // With a right, this is the provider of one shard. The trial of the upstream gets a watch of its own
                // below.
                if right == nil { made.withLock { $0[place] = upstream.watch } }
                return upstream
            }
        } catch {
            if let port { await self.admin?.service.abandon(port) }
            throw error
        }
        for warning in plan.admin.warnings { MessageWriter.shared.write(.warning(ServerLogEvent.adminOpen, warning)) }
        var new = made.withLock { $0 }
        let known = self.present.addresses.count
        for (place, number) in reloaded.upstreams.enumerated()
        where number >= known || reloaded.change.replaced.contains(number) {
            new[place] = new[place] ?? UpstreamWatch()
        }
        let watches = Dictionary(
            new.map { (plan.upstreamNames[$0.key], $0.value) },
            uniquingKeysWith: { first, _ in first }
        )
        plan.sayProxies(of: Set(watches.keys)) { MessageWriter.shared.write($0) }
        self.take(plan, configuration, reloaded, new)
        self.tryUpstreams(of: plan, watches)
        if let port { await self.admin?.service.commit(port) }
        return self.answer(plan, reloaded)
    }

    /// Reads all files outside the actor. A file system that hangs must not delay the shutdown of the gateway.
    @concurrent
    private static func plan(of config: String, _ tokens: TokenSources) async throws -> GatewayPlan {
        try GatewayCommand.plan(of: config, tokens)
    }

    /// Refuses a change that a running gateway cannot make. The reload then takes nothing, so that the process never
    /// runs with a part of the file.
    private func requireSame(_ plan: GatewayPlan) throws(CommandFailure) {
        let present = self.present.plan
        let fixed = [
            (
                "store",
                present.store?.path != plan.store?.path || present.store?.fsync != plan.store?.fsync
                    || present.database != plan.database
            ),
            // All shards of the process have one feedback service.
            ("listen.feedbackPort", plan.database != nil && present.hasFeedback != plan.hasFeedback),
            ("rejections", present.rejections != plan.rejections),
            ("admin.socket", present.admin.socket != plan.admin.socket),
            ("admin.port", self.admin == nil && plan.admin.port != nil),
            // The listening socket of the port would have to be closed first, and then a reload could fail halfway.
            ("admin.cert", Self.turnsEncryption(at: present.admin.port, plan.admin.port)),
        ]
        let changed = fixed.filter { $0.1 }.map { "'\($0.0)'" }
        guard !changed.isEmpty else { return }
        throw .usage(
            "\(changed.listed) cannot change while the gateway runs. Restart it, or take the change back. Nothing else of "
                + "the file was taken."
        )
    }

    /// Whether a port with the same address begins or ends to be encrypted.
    private static func turnsEncryption(at old: AdminServer.Port?, _ new: AdminServer.Port?) -> Bool {
        guard let old, let new, old.host == new.host, old.number == new.number, new.number != 0 else { return false }
        return (old.tls == nil) != (new.tls == nil)
    }

    /// Makes a new configuration the present one.
    private func take(
        _ plan: GatewayPlan,
        _ configuration: Gateway.Configuration,
        _ reloaded: Gateway.Reloaded,
        _ new: [Int: UpstreamWatch]
    ) {
        var present = self.present
        present.plan = plan
        present.plan.gateway = configuration
        for (place, number) in reloaded.upstreams.enumerated() {
            let entry = plan.upstreamAddresses[place]
            if number < present.addresses.count {
                present.addresses[number] = entry
                if let watch = new[place] { present.watches[number] = watch }
            } else if let watch = new[place] {
                // New upstreams have ascending numbers.
                present.addresses.append(entry)
                present.watches.append(watch)
            }
        }
        let tables = reloaded.tables
        present.removed = Set(tables.upstreams.indices.filter { !tables.upstreams[$0].isConfigured })
        self.present = present
        self.tokens.forgetOthers()
        self.rename(GatewayMessages.Names(tables, isLegacy: plan.isLegacy))
        LogPolicy.current.level = plan.logLevel ?? self.level
        if !self.isEnding {
            self.watching.cancel()
            self.watching = CertificateWatch.start(plan.certificates) { MessageWriter.shared.write($0) }
        }
        self.admin?.surround(self.surroundings)
    }

    /// Tries the upstreams that have a new provider. Ends the trials of their old settings, and of removed upstreams.
    ///
    /// - Parameter watches: the watches of the new providers, by the names of their upstreams.
    private func tryUpstreams(of plan: GatewayPlan, _ watches: [String: UpstreamWatch]) {
        guard !self.isEnding else { return }
        let names = Set(watches.keys)
        let gone = self.trying.keys.filter { names.contains($0) || !plan.upstreamNames.contains($0) }
        for name in gone { self.trying.removeValue(forKey: name)?.cancel() }
        self.trying.merge(UpstreamTrials(plan, only: names).start(watches, write: self.notes.write)) { $1 }
    }

    private func answer(_ plan: GatewayPlan, _ reloaded: Gateway.Reloaded) -> ReloadAnswer {
        let left = reloaded.left.filter { $0.count > 0 }.map {
            ReloadAnswer.Left(client: $0.client, notifications: $0.count)
        }
        return ReloadAnswer(
            isTaken: true,
            ReloadWords.sentence(reloaded.change, ended: reloaded.ended, left),
            change: reloaded.change,
            endedConnections: reloaded.ended,
            left: left,
            warnings: plan.admin.warnings
        )
    }

    // MARK: The admin service

    private var surroundings: GatewayAdmin.Surroundings {
        let (present, notes) = (self.present, self.notes)
        let files = ChangedFiles(present.plan.files)
        var around = GatewayAdmin.Surroundings(
            ProcessFacts(present.plan.certificates, notes.alarms, storePath: present.plan.store?.path),
            upstreams: present.addresses,
            watches: present.watches
        )
        around.removed = present.removed
        around.copied = { copy in
            MessageWriter.shared.write(
                LogMessage(
                    GatewayLogEvent.copied,
                    .notice,
                    "the store was copied to \(copy.path.printable)",
                    [.file: .text(copy.path)]
                )
            )
        }
        around.changedFiles = { files.names }
        around.refusedReload = { notes.refused }
        around.reload = { [weak self] in
            await self?.reload() ?? ReloadAnswer(isTaken: false, Self.ending)
        }
        return around
    }
}

/// The names of files that changed since they were read. The files are looked at every five seconds at most.
private final class ChangedFiles: Sendable {
    private static let pause: Duration = .seconds(5)

    private let files: ReadFiles
    private let last = Locked<(names: [String], at: ContinuousClock.Instant)?>(nil)

    init(_ files: ReadFiles) { self.files = files }

    var names: [String] {
        if let last = self.last.withLock({ $0 }), ContinuousClock.now - last.at < Self.pause { return last.names }
        let names = self.files.changed
        self.last.withLock { $0 = (names, .now) }
        return names
    }
}

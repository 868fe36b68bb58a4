internal import Ferry
internal import FerryCore
internal import FerryForwarding
internal import FerryGateway
internal import FerryPostgres
internal import FerryServer
internal import FerryShards
internal import FerryTerminal
internal import NIOPosix

/// A gateway on several machines: this process runs the shards that it owns.
extension GatewayCommand {
    /// Runs until SIGINT or SIGTERM.
    func serve(
        _ plan: GatewayPlan,
        of config: String,
        _ tokens: TokenSources,
        on database: GatewayDatabase,
        _ notes: GatewayAdminService.Notes
    ) async throws {
        let service = try ServiceManager(sockets: [])
        try FileDescriptorLimit.require(sockets: GatewayRoom.needed(upstreams: plan.upstreams.count))
        let shards = ShardMessages(
            node: database.node,
            list: plan.rejections,
            .init(plan.gateway.tables(upstreams: plan.upstreams.count), isLegacy: plan.isLegacy),
            write: notes.write
        )
        var gateway = plan.gateway
        gateway.list = try plan.rejections.map { try Self.list($0, survivesPowerLoss: false) }
        var setup = ShardProcess.Setup(
            connection: database.connection,
            node: database.node,
            away: database.away,
            rejections: database.rejections,
            gateway: gateway,
            shutdownLimit: Self.shutdownLimit,
            onEvent: { shards.say($0) }
        ) { place, right in
            var settings = plan.upstreams[place]
            settings.right = right
            return try Self.upstream(settings, plan.upstreamNames[place], write: notes.write)
        }
        setup.onGatewayEvent = { shards.of($0).say($1, $2) }
        setup.onNames = { shards.name($0, $1) }
        try await Self.check(database, plan)
        let process = ShardProcess(setup)
        let count: Int
        do {
            count = try await process.start()
        } catch let error as PostgresError {
            throw CommandFailure(error, of: "store.postgres")
        } catch let fault as ListenFault {
            throw CommandFailure.usage(
                "\(Endpoint.text(fault.host, fault.port)) cannot be listened on: \(Sentence.of(fault.cause))"
            )
        }
        let status = "Takes shards of \(count) as \(database.node)."
        let reloader = GatewayReloader(
            config,
            plan,
            tokens,
            process,
            plan.upstreams.map { _ in UpstreamWatch() },
            notes,
            service,
            level: self.log.logLevel,
            rename: { shards.take($0) },
            statusLine: { status }
        )
        let adminPort: Int?
        do {
            adminPort = try await reloader.startAdmin()
        } catch {
            await reloader.close()
            await process.shutDown()
            throw error
        }
        let feedback = await process.feedbackPort.map { ",\"feedback\":\($0)" } ?? ""
        let admin = adminPort.map { ",\"admin\":\($0)" } ?? ""
        let line = "{\"binary\":\(plan.gateway.port),\"shards\":\(count)\(feedback)\(admin)}"
        let isInWindow = Console.isTerminal || Console.isInputTerminal
        let hangUps = isInWindow ? nil : Signals.eachHangUp { Task { await reloader.reload() } }
        defer { withExtendedLifetime(hangUps) {} }
        // The watchdog needs no loop of a shard: an owner whose event loop hangs loses the shard to another node.
        let eventLoop = MultiThreadedEventLoopGroup.singleton.next()
        try await service.waitForEnd(status, on: eventLoop, hangUpEnds: isInWindow) { try Console.print(line) }
        await reloader.close()
        shards.sayStop()
        await reloader.stopAdmin()
        let isKept = await process.shutDown()
        gateway.list?.close()
        let unlisted = await process.unlisted
        shards.of(nil).sayLost(lines: unlisted)
        await MessageWriter.shared.flush(within: .seconds(1))
        guard isKept, unlisted == 0 else { throw ExitStatus.notAllAccepted }
    }

    /// Checks that the database can be used, and that this process has ports and descriptors for all shards there.
    static func check(_ database: GatewayDatabase, _ plan: GatewayPlan) async throws(CommandFailure) {
        let shards: Int
        do throws(PostgresError) {
            shards = try await ShardProcess.check(connection: database.connection, node: database.node)
        } catch {
            throw CommandFailure(error, of: "store.postgres")
        }
        try GatewayDatabase.checkPorts(plan.gateway.doors, shards: shards)
        // With too few descriptors, a take-over would end this process, and then the process that takes its shards.
        let needed = GatewayRoom.needed(upstreams: plan.upstreams.count, gateways: shards)
        try FileDescriptorLimit.require(sockets: needed)
    }
}

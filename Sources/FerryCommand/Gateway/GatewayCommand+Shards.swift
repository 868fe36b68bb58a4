internal import Ferry
internal import FerryCore
internal import FerryForwarding
internal import FerryGateway
internal import FerryServer
internal import FerryShards
internal import FerryTerminal
internal import NIOPosix

/// A gateway on several machines: this process runs the shards that it owns.
extension GatewayCommand {
    /// Runs until SIGINT or SIGTERM.
    func serve(_ plan: GatewayPlan, on database: GatewayDatabase, _ notes: GatewayAdminService.Notes) async throws {
        let service = try ServiceManager(sockets: [])
        try FileDescriptorLimit.require(sockets: GatewayRoom.needed(upstreams: plan.upstreams.count))
        let messages = GatewayMessages(
            clients: [],
            firstTopics: [],
            upstreams: [],
            list: nil,
            isStored: true,
            write: notes.write
        )
        messages.take(.init(plan.gateway.tables(upstreams: plan.upstreams.count), isLegacy: plan.isLegacy))
        let shards = ShardMessages(node: database.node, write: notes.write)
        var configuration = plan.gateway
        configuration.onEvent = { event, counts in messages.say(event, counts) }
        let setup = ShardProcess.Setup(
            connection: database.connection,
            node: database.node,
            away: database.away,
            gateway: configuration,
            shutdownLimit: Self.shutdownLimit,
            onEvent: { shards.say($0) }
        ) { right in
            try zip(plan.upstreamNames, plan.upstreams).map { name, upstream in
                var upstream = upstream
                upstream.right = right
                return try Self.upstream(upstream, name, write: notes.write)
            }
        }
        try await Self.check(database, plan)
        let process = ShardProcess(setup)
        let count: Int
        do {
            count = try await process.start()
        } catch let error as StoreError {
            throw CommandFailure.usage("'store.postgres': \(error.description)")
        } catch let fault as ListenFault {
            throw CommandFailure.usage(
                "\(Endpoint.text(fault.host, fault.port)) cannot be listened on: \(Sentence.of(fault.cause))"
            )
        }
        let admin: ShardAdmin?
        do {
            admin = try await ShardAdmin.start(plan.admin, process, ferry: Version.current)
        } catch {
            await process.shutDown()
            throw error
        }
        let watching = CertificateWatch.start(plan.certificates) { MessageWriter.shared.write($0) }
        defer { watching.cancel() }
        let feedback = await process.feedbackPort.map { ",\"feedback\":\($0)" } ?? ""
        let adminPort = admin?.port.map { ",\"admin\":\($0)" } ?? ""
        let line = "{\"binary\":\(configuration.port),\"shards\":\(count)\(feedback)\(adminPort)}"
        let status = "Takes shards of \(count) as \(database.node)."
        let isInWindow = Console.isTerminal || Console.isInputTerminal
        let hangUps = isInWindow ? nil : Signals.eachHangUp { shards.sayNoReload() }
        defer { withExtendedLifetime(hangUps) {} }
        // Each shard has an event loop of its own, and an owner whose loop hangs loses its shard.
        let eventLoop = MultiThreadedEventLoopGroup.singleton.next()
        try await service.waitForEnd(status, on: eventLoop, hangUpEnds: isInWindow) { try Console.print(line) }
        shards.sayStop()
        await admin?.stop()
        let isKept = await process.shutDown()
        await MessageWriter.shared.flush(within: .seconds(1))
        guard isKept else { throw ExitStatus.notAllAccepted }
    }

    /// Checks that the database can be used, and that its shards have ports.
    static func check(_ database: GatewayDatabase, _ plan: GatewayPlan) async throws(CommandFailure) {
        let shards: Int
        do throws(StoreError) {
            shards = try await ShardProcess.check(connection: database.connection, node: database.node)
        } catch {
            throw CommandFailure.usage("'store.postgres': \(error.description)")
        }
        try GatewayDatabase.checkPorts(plan.gateway.doors, shards: shards)
    }
}

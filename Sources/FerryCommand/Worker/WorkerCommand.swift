internal import ArgumentParser
internal import Ferry
internal import FerryAdmin
internal import FerryCore
internal import FerryForwarding
internal import FerryGateway
internal import FerryPlatform
internal import FerryPostgres
internal import FerryServer
internal import FerryTerminal
internal import FerryWorker
internal import NIOPosix

/// The command `ferry worker`.
struct WorkerCommand: AsyncParsableCommand, ListeningCommand {
    static let configuration = CommandConfiguration(
        commandName: "worker",
        abstract: "Delivers the pushes that applications insert into a table of PostgreSQL.",
        discussion: """
            Takes rows of ferry.push, delivers them over HTTP/2, and writes ferry.outcome. Any number of workers may serve \
            one database. Prints one JSON line as soon as it works, and runs until SIGINT or SIGTERM.

            A configuration, which may be that of a gateway:
              {"store": {"postgres": "postgresql://ferry@db/ferry"},
               "upstreams": {"apns": {"p8": "AuthKey_ABCDE12345.p8", "keyID": "ABCDE12345", "teamID": "FGHIJ67890"}},
               "clients": [{"name": "shop", "topics": ["com.example.shop"]}],
               "worker": {"connections": 8, "batch": 500, "outcomes": {"keep": 7, "accepted": true}}}

            'worker.admin' is a service of metrics, as 'admin' of a gateway. Docs/queue.md says what each means.

            Examples:
              ferry worker --config gateway.json --check
              ferry worker --config gateway.json
            """
    )

    @Option(help: ArgumentHelp("The configuration, a JSON object. Its paths are relative to it.", valueName: "file"))
    var config: String

    @Flag(help: "Check the configuration, the credentials and the database, and exit.")
    var check = false

    @OptionGroup(title: "Messages")
    var log: LogOptions

    /// How long a stop waits for answers of APNs.
    private static let stopLimit: Duration = .seconds(10)

    var socketCount: Int { 128 }

    func run() async throws {
        self.log.apply()
        try await self.reportingFailure { try await self.work() }
    }

    private func plan() throws -> WorkerPlan {
        let bytes = try ConfigurationFile.contents(of: self.config)
        return try WorkerPlan(bytes, directory: URL(filePath: self.config).deletingLastPathComponent())
    }

    private func work() async throws {
        let plan = try self.plan()
        if let level = plan.logLevel { LogPolicy.current.level = level }
        for (file, holds) in plan.secrets { file.warnIfOpen(holding: holds) { MessageWriter.shared.write($0) } }
        let messages = WorkerMessages()
        var configuration = plan.worker
        configuration.onEvent = { messages.say($0) }
        let upstreams = try plan.upstreams.map { name, http2 in
            var http2 = http2
            http2.logger = UpstreamLog.logger(name, UpstreamWatch(), write: messages.write)
            do {
                return try WorkerUpstream.over(
                    http2: http2,
                    connections: configuration.connections,
                    batch: configuration.batch
                )
            } catch {
                throw CommandFailure.usage("upstreams.\(name): \(Sentence.of(error))")
            }
        }
        if self.check {
            for upstream in upstreams { _ = await upstream.provider.shutDown(within: .zero) }
            try await Self.reaching { () throws(PostgresError) in
                try await QueueWorker.check(configuration)
            }
            await MessageWriter.shared.flush(within: .seconds(1))
            return try Console.print("\(self.config): good")
        }
        let service = try ServiceManager(sockets: [])
        let eventLoop = MultiThreadedEventLoopGroup.singleton.next()
        let worker = try await Self.reaching { () throws(PostgresError) in
            try await QueueWorker.start(configuration, upstreams: upstreams, on: eventLoop)
        }
        let routes = WorkerAdmin.routes(worker, messages)
        let admin = try await AdminService.start(plan.admin, routes) { await routes.answer($0) }
        let status = "Takes rows for \(configuration.clients.map(\.name).joined(separator: ", "))."
        try await service.waitForEnd(status, on: eventLoop) {
            try Console.print(admin?.port.map { #"{"admin":\#($0)}"# } ?? "{}")
        }
        await worker.stop(within: Self.stopLimit)
        let figures = await worker.figures
        await admin?.stop()
        for upstream in upstreams { _ = await upstream.provider.shutDown(within: .zero) }
        messages.sayEnd(figures)
        await MessageWriter.shared.flush(within: .seconds(1))
    }

    /// Turns an error of PostgreSQL into the failure of the command.
    private static func reaching<Result>(
        _ body: () async throws(PostgresError) -> Result
    ) async throws(CommandFailure) -> Result {
        do {
            return try await body()
        } catch {
            throw CommandFailure(error)
        }
    }
}

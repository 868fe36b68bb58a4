internal import ArgumentParser
internal import Ferry
internal import FerryCore
internal import FerryGateway

#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif

/// The command `ferry gateway`.
struct GatewayCommand: AsyncParsableCommand, SocketCommand {
    static let configuration = CommandConfiguration(
        commandName: "gateway",
        abstract: "Takes the binary protocol from an old stack, and delivers over HTTP/2.",
        discussion: """
            Old clients connect as they did to Apple's gateway. Prints the bound ports as one JSON line as soon as it \
            listens, and runs until SIGINT, SIGTERM or SIGHUP. It keeps nothing on disk: what has no answer when the \
            process is killed is lost.

            A configuration:
              {"listen": {"port": 2195, "feedbackPort": 2196, "cert": "server.pem", "key": "server-key.pem"},
               "upstreams": {"apns": {"p8": "AuthKey_ABCDE12345.p8", "keyID": "ABCDE12345", "teamID": "FGHIJ67890"}},
               "clients": [{"name": "shop", "cert": "push.pem", "topics": ["com.example.shop"]}],
               "rejections": "rejections.jsonl"}

            Examples:
              ferry gateway --config gateway.json
              ferry gateway --config gateway.json --check
            """
    )

    @Option(help: ArgumentHelp("The configuration, a JSON object. Its paths are relative to it.", valueName: "file"))
    var config: String

    @Flag(help: "Check the configuration and the credentials, and exit.")
    var check = false

    /// How long a shutdown may take: ten seconds of quiet, and what APNs has not answered.
    private static let shutdownLimit: Duration = .seconds(30)

    // The connections of clients are bounded by the listener.
    var socketCount: Int { 64 }

    func run() async throws {
        let plan = try self.plan()
        if self.check { return try Console.print("\(self.config): good") }
        let names = plan.gateway.identities.map(\.name)
        let list = try plan.rejections.map { try RejectionFile(path: $0, clients: names) }
        var configuration = plan.gateway
        configuration.onEvent = { event in
            list?.append(event)
            Self.say(event)
        }
        let upstreams = try plan.upstreams.map { upstream in
            let outcomes = UpstreamOutcomes()
            var upstream = upstream
            upstream.outcomes = .sink(outcomes)
            return GatewayUpstream(try HTTP2Provider(upstream), outcomes: outcomes)
        }
        let gateway = try await self.start(configuration, upstreams)
        let ports = [("binary", gateway.port), ("feedback", gateway.feedbackPort)]
            .compactMap { name, port in port.map { "\"\(name)\":\($0)" } }
        try await Signals.wait { try Console.print("{\(ports.joined(separator: ","))}") }
        let isComplete = await gateway.shutDown(within: Self.shutdownLimit)
        let counts = try await gateway.counts
        for upstream in upstreams { _ = await upstream.provider.shutDown(within: .seconds(1)) }
        Console.error(
            "ferry: read \(counts.read): \(counts.accepted) accepted, \(counts.refused) refused, \(counts.gone) gone, "
                + "\(counts.swallowed) copies swallowed, \(counts.told) error responses"
        )
        guard isComplete else { throw ExitStatus.notAllAccepted }
    }

    private func plan() throws -> GatewayPlan {
        let file: GatewayFile
        do {
            file = try JSONDecoder().decode(GatewayFile.self, from: Data(OptionFile("--config", self.config).bytes()))
        } catch let error as DecodingError {
            throw CommandFailure.usage("The configuration cannot be used: \(Sentence.of(error))")
        }
        return try GatewayPlan(file, directory: URL(filePath: self.config).deletingLastPathComponent())
    }

    private func start(_ configuration: Gateway.Configuration, _ upstreams: [GatewayUpstream]) async throws -> Gateway {
        do {
            return try await Gateway.start(configuration, upstreams: upstreams)
        } catch {
            throw CommandFailure.usage(
                "\(Endpoint.text(configuration.host, configuration.port)) cannot be listened on: \(Sentence.of(error))"
            )
        }
    }

    /// Says what a person has to look at.
    private static func say(_ event: GatewayEvent) {
        switch event {
        case .alarm(_, let topic, let reason):
            let explanation = reason.explanation.map { " \($0)" } ?? ""
            Console.error(
                "ferry: alarm: APNs refuses \(topic) with \(reason.rawValue).\(explanation) Notifications wait, and one a "
                    + "second tries the way."
            )
        case .allClear(_, let topic):
            Console.error("ferry: the alarm for \(topic) is over")
        case .deadLetter(let refusal):
            Console.error("ferry: a notification could not be delivered: \(refusal.reason.rawValue)")
        case .refused, .gone:
            break
        }
    }
}

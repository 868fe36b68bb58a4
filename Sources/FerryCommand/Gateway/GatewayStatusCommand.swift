internal import ArgumentParser
internal import FerryAdmin
internal import FerryCore
internal import FerryGateway
internal import FerryHTTP1
internal import FerryOpenSSL
internal import FerryPlatform
internal import FerryTerminal

/// The command `ferry gateway status`.
struct GatewayStatusCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "status",
        abstract: "Shows how a gateway that runs is.",
        discussion: """
            Asks the admin service of the gateway: over its socket, as the user that runs it, or over its port.

            The exit status is 0 if the gateway is well, 1 if there is trouble, and 3 if nobody answers.

            Examples:
              ferry gateway status --config gateway.json
              ferry gateway status --socket /run/ferry-gateway/gateway-admin --json
            """
    )

    @ParentCommand var gateway: GatewayCommand
    @OptionGroup var place: AdminPlaceOptions

    @Flag(help: "Print the status as one JSON object.")
    var json = false

    func run() async throws {
        try await self.gateway.reportingFailure {
            let client = try self.place.client(config: self.gateway.config)
            let (status, text) = try await client.status()
            if self.json {
                try Console.printList(text)
            } else {
                try Console.printList(GatewayStatusText(status).screen)
            }
            guard status.condition.level == .well else { throw ExitStatus.notAllAccepted }
        }
    }
}

/// The options that name the admin service of another process.
struct AdminPlaceOptions: ParsableArguments {
    @Option(help: ArgumentHelp("The socket of the admin service.", valueName: "path"))
    var socket: String?

    @Option(
        help: ArgumentHelp("The port of the admin service: http://HOST:PORT or https://HOST:PORT.", valueName: "url")
    )
    var url: String?

    @Option(help: ArgumentHelp("The file of the token that the port wants.", valueName: "file"))
    var tokenFile: String?

    @Option(help: ArgumentHelp("The authorities that may sign the port's certificate.", valueName: "file"))
    var ca: String?

    func validate() throws {
        if self.socket != nil, self.url != nil { throw ValidationError("Give --socket or --url, not both.") }
        if self.url == nil, self.tokenFile != nil || self.ca != nil {
            throw ValidationError("--token-file and --ca belong to --url.")
        }
    }

    /// - Parameter config: the configuration of the gateway, which names its socket and its store.
    func client(config: String?) throws -> AdminClient {
        if let url { return try self.client(url) }
        guard let path = try self.socket ?? self.socket(of: config) else {
            throw CommandFailure.usage(
                "The gateway has no admin socket: give it 'store' or 'admin', or name its port with --url."
            )
        }
        return try AdminClient(socket: path)
    }

    private func client(_ text: String) throws -> AdminClient {
        let url: HTTPURL
        do throws(HTTPURL.Fault) {
            url = try HTTPURL(text)
        } catch {
            throw CommandFailure.usage("--url: \(error.description)")
        }
        let token = try self.tokenFile.map { String(decoding: try AdminPlan.token($0), as: UTF8.self) }
        let roots: TrustRoots = try self.ca.map { try .ofOption("--ca", $0) } ?? .system
        return try AdminClient(url: url, token: token, trustRoots: roots)
    }

    private func socket(of config: String?) throws -> String? {
        guard let config else { throw CommandFailure.usage("Give --config FILE, --socket PATH or --url URL.") }
        return try GatewayCommand.plan(of: config).admin.socket.path
    }
}

extension AdminClient {
    /// Returns the status of the gateway, and its text.
    ///
    /// - Throws: ``CommandFailure`` with exit status 3 when there is none.
    func status() async throws(CommandFailure) -> (GatewayStatus, String) {
        let response: HTTPClientResponse
        do throws(HTTPClientError) {
            response = try await self.get("/status")
        } catch {
            throw CommandFailure(.noConnection, "The gateway does not answer: \(error.description)")
        }
        let text = String(decoding: response.body, as: UTF8.self)
        guard response.status == 200 else {
            throw CommandFailure(
                .noConnection,
                "The gateway answers with status \(response.status): \(String(text.prefix { $0 != "\n" }).printable)"
            )
        }
        do {
            return (try JSONDecoder().decode(GatewayStatus.self, from: Data(response.body)), text)
        } catch {
            throw CommandFailure(
                .noConnection,
                "The answer is no status of a gateway of this version: use the 'ferry' that it was started with."
            )
        }
    }
}

internal import ArgumentParser
internal import FerryAppStore
internal import FerryCore
internal import FerryOpenSSL
internal import FerryServer
internal import FerryTerminal

/// The command `ferry appstore serve`.
struct AppStoreServeCommand: AsyncParsableCommand, ListeningCommand {
    static let configuration = CommandConfiguration(
        commandName: "serve",
        abstract: "Receives notifications at the URL that App Store Connect has.",
        discussion: """
            Prints the port as one JSON line as soon as it listens, and runs until SIGINT, SIGTERM or SIGHUP. Under systemd, \
            it takes the socket 'receiver' in place of --host and --listen.

            With --store, a notification is answered with 200 when it is on disk, and delivered later, at least once, one \
            customer's in their order. Without it, the one --forward URL must answer within 3 s; otherwise Apple comes \
            again.

            A forwarded notification is plain JSON. Its signature is that of Standard Webhooks; a secret is made by:
              echo "whsec_$(openssl rand -base64 32)" > secret.txt

            Examples:
              ferry appstore serve --app com.example.app:1234567890 --listen 443 --host 0.0.0.0 \\
                --cert fullchain.pem --key privkey.pem --store notifications.db \\
                --forward http://localhost:8080/appstore --forward-secret-file secret.txt
              ferry appstore serve --app com.example.app --listen 8443 --plain --path /appstore --store notifications.db
            """
    )

    @OptionGroup var options: AppStoreOptions

    @Option(parsing: .unconditional, help: ArgumentHelp("The port to listen on; 0 for any.", valueName: "port"))
    var listen: Int

    @Option(help: ArgumentHelp("The address to listen on.", valueName: "address"))
    var host = "127.0.0.1"

    @Option(help: ArgumentHelp("The path of the URL.", valueName: "path"))
    var path = "/"

    @OptionGroup(title: "The certificate of the URL's host")
    var identity: OptionArguments<ServerIdentitySection>

    @Flag(help: "No TLS: a proxy in front has it.")
    var plain = false

    @Option(help: ArgumentHelp("Where notifications are kept; made if there is none.", valueName: "file"))
    var store: String?

    @Option(
        help: ArgumentHelp(
            """
            A genuine notification, as Apple posted it: its certificates are then known from the start. A store keeps those \
            of what it has taken.
            """,
            valueName: "file"
        )
    )
    var certificatesFrom: String?

    @Option(help: ArgumentHelp("A URL that gets each notification in plain JSON. May be repeated.", valueName: "url"))
    var forward: [String] = []

    @Option(
        help: ArgumentHelp(
            "A file with the secret for signing what is forwarded; a second line for the old secret during a change.",
            valueName: "file"
        )
    )
    var forwardSecretFile: String?

    @Option(
        help: ArgumentHelp(
            "A URL that gets Apple's posts unchanged, such as a subscription service. May be repeated.",
            valueName: "url"
        )
    )
    var forwardPost: [String] = []

    @Option(
        help: ArgumentHelp(
            "The authorities that may sign the certificates of --forward URLs, in PEM form.",
            valueName: "file"
        )
    )
    var forwardCA: String?

    @OptionGroup(title: "Metrics, health and status") var admin: AdminOptions

    @OptionGroup(title: "Messages") var log: LogOptions

    // The listener itself limits the connections of posts to the descriptors that are left.
    var socketCount: Int { 64 + self.outgoingConnections }

    private var outgoingConnections: Int {
        (self.forward.count + self.forwardPost.count) * AppStoreDestination.concurrentDeliveries
    }

    func validate() throws {
        try HostName.require(self.host, "--host")
        guard 0...65_535 ~= self.listen else { throw ValidationError("--listen takes a port, 0 to 65535.") }
        guard self.path.hasPrefix("/"), self.path.utf8.allSatisfy({ 0x21...0x7e ~= $0 && $0 != UInt8(ascii: "?") })
        else {
            throw ValidationError("--path begins with a slash and has no query.")
        }
        guard !self.options.app.isEmpty else {
            throw ValidationError("Say which app is served: --app com.example.app.")
        }
        guard self.plain != self.identity.areGiven else {
            throw ValidationError(
                self.plain
                    ? "--plain means that a proxy has the URL's certificate: leave out --cert, --key and --p12."
                    : "Give the URL's certificate, --cert and --key; or --plain behind a proxy that has it."
            )
        }
        guard self.forward.isEmpty == (self.forwardSecretFile == nil) else {
            throw ValidationError(
                self.forward.isEmpty
                    ? "--forward-secret-file needs --forward." : "--forward needs --forward-secret-file."
            )
        }
        let urls = self.forward + self.forwardPost
        guard Set(urls).count == urls.count else { throw ValidationError("A URL to forward to is named twice.") }
        guard self.store != nil || self.forwardPost.isEmpty else {
            throw ValidationError("--forward-post needs --store.")
        }
        guard self.store != nil || urls.count == 1 else {
            throw ValidationError(
                urls.isEmpty
                    ? "Say what becomes of notifications: --store FILE, --forward URL, or both."
                    : "Without --store there can be only one URL to forward to."
            )
        }
    }

    func run() async throws {
        self.log.apply()
        try await self.reportingFailure { try await self.receive() }
    }

    private func receive() async throws {
        let service = try ServiceManager(sockets: ["receiver"])
        let verifier = try self.options.verifier()
        try self.learn(verifier)
        let admin = try self.admin.plan(of: .appstore, store: self.store)
        let watch = AppStoreWatch(try self.destinations())
        let alarms = AppStoreAlarms()
        let messages = AppStoreMessages(watch, write: alarms.write)
        var server = AppStoreServer.Configuration()
        server.host = self.host
        server.port = self.listen
        server.path = self.path
        server.identity = try self.identity.identity()
        server.outgoingConnections = self.outgoingConnections
        server.onAnswer = { watch.note(answer: $0, after: $1) }
        let certificates = self.certificates(server.identity, admin: admin.identity)
        let watching = CertificateWatch.start(certificates, write: alarms.write)
        defer { watching.cancel() }
        server.passed = try service.socket("receiver")
        server.succession = service.succession
        guard let path = self.store else {
            let handler = watch.destinations[0].handler
            let receiver = AppStoreReceiver(verifier, handOver: .handler(handler)) { messages.say($0) }
            return try await self.serve(receiver, server, messages, service) { server in
                try await Self.start(admin, watch, nil, server, alarms, certificates)
            } beforeEnd: {
            } end: {
            }
        }
        guard ControlClient.fits(store: path) else {
            throw CommandFailure.usage("The path of --store is too long for the socket beside it: move the store.")
        }
        let store = AppStoreStore(path: path, destinations: watch.destinations) { messages.say($0) }
        let warning = try await self.open(store, service.succession)
        if let warning {
            alarms.write(
                .warning(ServerLogEvent.storeWarning, "\(warning)", [.reason: .text("\(warning)")])
            )
        }
        let control: ControlServer
        do {
            control = try await ControlServer.start(store: path, StoreDesk(store, verifier: verifier))
        } catch {
            throw CommandFailure.usage("\(ControlServer.path(store: path)) cannot be made: \(Sentence.of(error))")
        }
        let receiver = AppStoreReceiver(verifier, handOver: .store(store)) { messages.say($0) }
        let delivering = Task { await store.run() }
        defer { delivering.cancel() }
        try await self.serve(receiver, server, messages, service) { server in
            try await Self.start(admin, watch, (store, path), server, alarms, certificates)
        } beforeEnd: {
            store.stopDelivering()
        } end: {
            await store.end(within: Self.endLimit)
            delivering.cancel()
            // For a moment only: on a full disk, a delivery waits to be noted until the store closes.
            await store.end(within: .seconds(1))
            await control.stop()
            await store.close()
        }
    }

    private func learn(_ verifier: AppStoreVerifier) throws(CommandFailure) {
        guard let certificatesFrom else { return }
        let file = OptionFile("--certificates-from", certificatesFrom)
        let bytes: [UInt8]
        do {
            bytes = try file.bytes()
        } catch {
            throw .usage(error.description)
        }
        do {
            try verifier.learn(from: bytes)
        } catch {
            throw .usage("\(file.name) holds no genuine notification: \(error.description)")
        }
    }

    /// Opens the store as soon as no other process has it: a receiver that ends, or a command.
    ///
    /// - Returns: a warning, if the store has one.
    private func open(_ store: AppStoreStore, _ succession: Succession) async throws(CommandFailure) -> String? {
        do throws(AppStoreStoreError) {
            let isTaken = { (error: AppStoreStoreError) in error.code == .locked }
            return try await succession.take(.store, isTaken: isTaken) {
                () async throws(AppStoreStoreError) -> String? in try await store.open()
            }
        } catch {
            throw .usage(error.description)
        }
    }

    /// How long deliveries that are under way may take at the end: a little longer than a URL has for its answer.
    private static let endLimit: Duration = .seconds(31)

    private func serve(
        _ receiver: AppStoreReceiver,
        _ configuration: AppStoreServer.Configuration,
        _ messages: AppStoreMessages,
        _ service: ServiceManager,
        admin startAdmin: (AppStoreServer) async throws -> AdminService?,
        beforeEnd: () -> Void,
        end: () async -> Void
    ) async throws {
        let server: AppStoreServer
        do {
            server = try await AppStoreServer.start(receiver, configuration)
        } catch {
            throw CommandFailure.usage(
                "\(Endpoint.text(configuration.host, configuration.port)) cannot be listened on: \(Sentence.of(error))"
            )
        }
        let admin: AdminService?
        do {
            admin = try await startAdmin(server)
        } catch {
            beforeEnd()
            await server.stop(within: .zero)
            await end()
            throw error
        }
        let name = self.plain ? "http" : "https"
        let adminPort = admin?.port.map { ",\"admin\":\($0)" } ?? ""
        let status = "Takes posts on \(Endpoint.text(server.host, server.port))."
        try await service.waitForEnd(status, on: server.eventLoop) {
            try Console.print("{\"\(name)\":\(server.port)\(adminPort)}")
        }
        beforeEnd()
        await server.stop(within: .seconds(5))
        await end()
        await admin?.stop()
        messages.sayEnd()
        await MessageWriter.shared.flush(within: .seconds(1))
    }

    private func destinations() throws -> [AppStoreDestination] {
        let secrets = try self.forwardSecretFile.map { try Self.secrets($0) } ?? []
        let roots: TrustRoots = try self.forwardCA.map { try .ofOption("--forward-ca", $0) } ?? .system
        let plain = try self.forward.map { url in
            try self.destination("--forward") { try .forward(to: url, secrets: secrets, trustRoots: roots) }
        }
        let unchanged = try self.forwardPost.map { url in
            try self.destination("--forward-post") { try .forwardPost(to: url, trustRoots: roots) }
        }
        return plain + unchanged
    }

    private func destination(
        _ option: String,
        _ make: () throws -> AppStoreDestination
    ) throws(CommandFailure) -> AppStoreDestination {
        do {
            return try make()
        } catch {
            throw CommandFailure.usage("\(option) cannot be used: \(Sentence.of(error))")
        }
    }

    private static func secrets(_ path: String) throws(CommandFailure) -> [String] {
        let option = "--forward-secret-file"
        let secrets = try SecretLines.read(option, path)
        guard WebhookSignature(secrets: secrets) != nil else {
            throw CommandFailure.usage(
                "\(FileName(path).words(option: option)) holds a line that is no secret for forwarding: whsec_ and then 24 to "
                    + "64 random bytes in Base64. 'ferry appstore serve --help' shows how to make one."
            )
        }
        return secrets
    }
}

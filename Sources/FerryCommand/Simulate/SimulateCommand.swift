internal import ArgumentParser
internal import Ferry
internal import FerryAppStoreTesting
internal import FerryCore
internal import FerryPlatform
internal import FerryTerminal
internal import FerryTesting

/// The command `ferry simulate`.
struct SimulateCommand: AsyncParsableCommand, SocketCommand {
    static let configuration = CommandConfiguration(
        commandName: "simulate",
        abstract: "Runs a simulated APNs, and a simulated App Store.",
        discussion: """
            Prints the bound ports as one JSON line as soon as it listens, and runs until SIGINT, SIGTERM or SIGHUP.

            Examples:
              ferry simulate --binary 2195 --tls-dir tls --record accepted.jsonl
              ferry simulate --binary 0 --feedback 0 --tls-dir tls --script trouble.json
              ferry simulate --http2 2197 --tls-dir tls --record accepted.jsonl
              ferry simulate --binary 2195 --cert gateway.pem --key gateway-key.pem --client-ca company-ca.pem
              ferry simulate --app-store 0 --app-store-url http://127.0.0.1:8080/ --app-store-count 100 --tls-dir tls

            A receiver must trust the root of the App Store's signatures, app-store-root.pem in --tls-dir. The App Store's \
            API takes tokens of token-key.p8, whose key ID is FERRYKEY01 and whose issuer is FERRYTEAM1.

            A script, every key of which may be left out:
              {"errorDelaySeconds": 0.2, "rules": [{"prefix": "bad0", "status": 8}, {"after": 1000, "status": 10}],
               "feedback": {"tuples": [{"token": "00fc", "time": 1700000000}]},
               "http2": {"rules": [{"prefix": "bad0", "status": 410}, {"every": 5000, "action": "goAway"}]}}
            """
    )

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("The port of the binary gateway; 0 for any.", valueName: "port")
    )
    var binary: Int?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("The port of the feedback service; 0 for any.", valueName: "port")
    )
    var feedback: Int?

    @Option(
        name: .customLong("http2"),
        parsing: .unconditional,
        help: ArgumentHelp("The port of APNs over HTTP/2; 0 for any.", valueName: "port")
    )
    var http2: Int?

    @OptionGroup(title: "The App Store")
    var appStore: SimulatedAppStoreOptions

    @Option(help: "The address to listen on.")
    var host = "127.0.0.1"

    @Option(
        help: """
            A directory of ca.pem, server and client certificates, and token-key.p8, made when there are none. The key's \
            identifier is FERRYKEY01, and its team FERRYTEAM1. Without it they are made in memory, and no client can \
            verify the server.
            """
    )
    var tlsDir: String?

    @OptionGroup(title: "Certificates of yours, in place of those of --tls-dir")
    var identity: ServerIdentityOptions

    @Option(help: "The highest TLS version: 1.2 or 1.3. Without it, 1.3 for HTTP/2 and 1.2 for the others.")
    var tlsMax: TLSMaximum?

    @Flag(help: "Take clients that show no certificate. Those of HTTP/2 need none: they may have provider tokens.")
    var noClientCertificate = false

    @Option(help: "A JSON file that says what goes wrong.")
    var script: String?

    @Option(
        help:
            """
            Where one JSON line goes for each accepted notification, and for each attempt of the App Store to send one. The file \
            is made anew.
            """
    )
    var record: String?

    func validate() throws {
        try HostName.require(self.host, "--host")
        if self.binary == nil, self.feedback == nil, self.http2 == nil, self.appStore.appStore == nil {
            throw ValidationError(
                "Say what to simulate: --binary PORT, --feedback PORT, --http2 PORT, --app-store PORT, or several."
            )
        }
        try OutputName.require(self.record, "--record")
        if self.binary == nil, self.http2 == nil, self.appStore.appStoreUrl == nil, self.record != nil {
            throw ValidationError("--record needs --binary, --http2 or --app-store-url.")
        }
        let wantsClients = (self.binary != nil || self.feedback != nil) && !self.noClientCertificate
        if self.identity.server.areGiven, self.identity.clientCA == nil, self.tlsDir == nil, wantsClients {
            throw ValidationError(
                "Say who may vouch for clients: --client-ca FILE or --tls-dir DIR; or take those that show no certificate: "
                    + "--no-client-certificate."
            )
        }
        let ports = [
            ("binary", self.binary), ("feedback", self.feedback), ("http2", self.http2),
            ("app-store", self.appStore.appStore),
        ]
        for (name, port) in ports {
            guard 0...65_535 ~= port ?? 0 else { throw ValidationError("--\(name) takes a port, 0 to 65535.") }
        }
    }

    // There are four listeners with a few clients each, and the connections on which the App Store posts.
    var socketCount: Int { self.appStore.appStoreUrl == nil ? 12 : 32 }

    func run() async throws {
        var configuration = try self.configuration()
        try self.check(configuration.script)
        let recorder = try self.recorder()
        configuration.recorder = recorder
        configuration.feedback = try await self.startFeedback(configuration)
        let gateway = try await self.startGateway(configuration)
        let apns = try await self.startAPNs(configuration, recorder)
        let appStore = try await self.startAppStore(configuration, recorder)
        let ports = [
            ("binary", gateway?.port), ("feedback", configuration.feedback?.port), ("http2", apns?.port),
            ("appStore", appStore?.server.port),
        ]
        .compactMap { name, port in port.map { "\"\(name)\":\($0)" } }
        let flushing = Task {
            while !Task.isCancelled {
                try await Task.sleep(for: Self.flushInterval)
                recorder?.flush()
            }
        }
        defer { flushing.cancel() }
        let feedback = configuration.feedback
        let counts: @Sendable () -> SimulationCounts = {
            SimulationCounts(
                binary: gateway?.counts,
                feedback: feedback?.counts,
                http2: apns?.counts,
                posts: appStore?.posts,
                requests: appStore?.server.counts.requests
            )
        }
        let shown = ProgressDisplay(wantsLines: false)?.show { counts().progress }
        try await Signals.wait { try Console.print("{\(ports.joined(separator: ","))}") }
        await shown?.end()
        await gateway?.stop()
        await apns?.stop()
        await appStore?.stop()
        await feedback?.stop()
        for line in counts().lines { Console.error("ferry: \(line)") }
        if let failure = recorder?.failure { throw CommandFailure.usage("\(failure)") }
    }

    /// How long a line of the record may wait until it is written.
    private static let flushInterval: Duration = .milliseconds(200)

    private func recorder() throws -> GatewayFileRecorder? {
        guard let record else { return nil }
        if let script, let file = FileIdentity(path: record), file == FileIdentity(path: script) {
            throw CommandFailure.usage("The record would overwrite the script; give --record a file of its own.")
        }
        do {
            return try GatewayFileRecorder(path: record)
        } catch {
            throw CommandFailure.usage("The record cannot be written: \(error)")
        }
    }

    private func configuration() throws -> SimulatedGateway.Configuration {
        var configuration = SimulatedGateway.Configuration(
            credentials: try self.identity.apply(to: TestCredentials.open(self.tlsDir))
        )
        configuration.host = self.host
        configuration.port = self.binary ?? 0
        configuration.requiresClientCertificate = !self.noClientCertificate
        configuration.maximumTLSVersion = self.tlsMax?.version ?? .tls12
        if let script {
            do {
                configuration.script = try GatewayScript(contentsOfFile: script)
            } catch {
                let name = FileName(script).shown.map { "The script \($0)" } ?? "The script"
                throw CommandFailure.usage("\(name) cannot be used: \(Sentence.of(error))")
            }
        }
        return configuration
    }

    private func check(_ script: GatewayScript) throws {
        let services: [(ScriptCheck.Service, Int?)] = [
            (.binary, self.binary), (.http2, self.http2), (.feedback, self.feedback),
        ]
        let check = ScriptCheck(script: script, simulated: Set(services.filter { $1 != nil }.map(\.0)))
        if let fault = check.fault { throw CommandFailure.usage(fault) }
        for warning in check.warnings { Console.error("ferry: warning: \(warning)") }
    }

    private func startGateway(_ configuration: SimulatedGateway.Configuration) async throws -> SimulatedGateway? {
        guard let port = self.binary else { return nil }
        return try await self.start(on: port) { try await SimulatedGateway.start(configuration) }
    }

    /// Starts a feedback service with the settings of the gateway.
    private func startFeedback(_ gateway: SimulatedGateway.Configuration) async throws -> SimulatedFeedback? {
        guard let port = self.feedback else { return nil }
        var configuration = SimulatedFeedback.Configuration(credentials: gateway.credentials)
        configuration.host = gateway.host
        configuration.port = port
        configuration.requiresClientCertificate = gateway.requiresClientCertificate
        configuration.maximumTLSVersion = gateway.maximumTLSVersion
        configuration.script = gateway.script.feedback
        return try await self.start(on: port) { [configuration] in try await SimulatedFeedback.start(configuration) }
    }

    /// Starts APNs over HTTP/2, with the settings that it shares with the gateway.
    private func startAPNs(
        _ gateway: SimulatedGateway.Configuration,
        _ recorder: GatewayFileRecorder?
    ) async throws -> SimulatedAPNs? {
        guard let port = self.http2 else { return nil }
        var configuration = SimulatedAPNs.Configuration(credentials: gateway.credentials)
        configuration.host = gateway.host
        configuration.port = port
        configuration.maximumTLSVersion = self.tlsMax?.version ?? .tls13
        configuration.script = gateway.script.http2
        configuration.recorder = recorder
        return try await self.start(on: port) { [configuration] in try await SimulatedAPNs.start(configuration) }
    }

    private func startAppStore(
        _ gateway: SimulatedGateway.Configuration,
        _ recorder: GatewayFileRecorder?
    ) async throws -> AppStoreSimulation? {
        guard let port = self.appStore.appStore else { return nil }
        return try await self.start(on: port) {
            try await AppStoreSimulation.start(
                self.appStore,
                host: gateway.host,
                port: port,
                credentials: gateway.credentials,
                directory: self.tlsDir,
                recorder: recorder
            )
        }
    }

    /// Returns the service that `body` starts. Its error names the port.
    private func start<Service>(on port: Int, _ body: () async throws -> Service) async throws -> Service {
        do {
            return try await body()
        } catch let failure as CommandFailure {
            throw failure
        } catch {
            throw CommandFailure.usage("Cannot listen on \(self.host), port \(port): \(Sentence.of(error))")
        }
    }
}

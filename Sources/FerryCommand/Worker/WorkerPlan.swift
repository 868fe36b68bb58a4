internal import Ferry
internal import FerryAdmin
internal import FerryCore
internal import FerryOptions
internal import FerryPlatform
internal import FerryProxy
internal import FerryShards
internal import FerryTerminal
internal import FerryWorker

/// The meaning of a configuration file for `ferry worker`. It may be the file of a gateway, whose other members are left
/// alone.
struct WorkerPlan {
    var worker: QueueWorker.Configuration
    var upstreams: [(name: String, configuration: HTTP2Configuration)]
    var admin: AdminPlan
    var logLevel: LogMessage.Level?
    /// The files with private keys and passwords.
    var secrets: [(file: OptionFile, holds: String)]

    /// - Throws: ``CommandFailure`` that names the member at fault.
    init(_ bytes: [UInt8], directory: URL, environment: ProxyEnvironment = ProxyEnvironment()) throws {
        let file: File
        do throws(OptionFault) { file = try File(bytes) } catch { throw CommandFailure.usage(error.sentence) }
        func path(_ name: String, _ member: String) throws -> String {
            let path = URL(filePath: name, relativeTo: directory).path
            let file = FileName(path, givenAs: name)
            guard file.shown != nil else {
                throw GatewayPlan.fault(file.sentence("does not exist", option: "'\(member)'"))
            }
            return path
        }
        // All gateways and workers at one database share one token for each key.
        let node = "\(ProcessInfo.processInfo.hostName) worker"
        let tokens = TokenSources(sharedIn: PostgresTokens(connection: file.postgres, node: node))
        var upstreams: [(name: String, configuration: HTTP2Configuration)] = []
        var secrets: [(file: OptionFile, holds: String)] = []
        for (name, upstream) in file.upstreams.sorted(by: { $0.key < $1.key }) {
            try GatewayPlan.named("upstreams.\(name)") {
                var configuration = try GatewayPlan.configuration(upstream, name, tokens, path)
                let password = try upstream.text("proxyPasswordFile").map {
                    let file = OptionFile("'upstreams.\(name).proxyPasswordFile'", try path($0, "proxyPasswordFile"))
                    secrets.append((file, "a password"))
                    return try file.firstLine()
                }
                do throws(ProxyAddressFault) {
                    configuration.proxy = try ProxyOption.proxy(
                        upstream.text("proxy"),
                        userName: upstream.text("proxyUser"),
                        password: password,
                        for: configuration.host,
                        environment: environment
                    )
                    if upstream.text("proxy") == nil {
                        configuration.proxy = try environment.proxy(for: configuration.host)?.proxy
                    }
                } catch {
                    throw GatewayPlan.fault(error.description)
                }
                for member in ["p8", "key"] {
                    guard let key = upstream.text(member) else { continue }
                    let file = OptionFile("'upstreams.\(name).\(member)'", try path(key, member))
                    secrets.append((file, "a private key"))
                }
                upstreams.append((name, configuration))
            }
        }
        let names = upstreams.map(\.name)
        guard !names.isEmpty else { throw GatewayPlan.fault("'upstreams' is empty: nothing could be delivered") }
        var clients: [WorkerClient] = []
        for (index, client) in file.clients.enumerated() {
            try GatewayPlan.named("clients[\(index)]") {
                guard !client.topics.isEmpty else { throw GatewayPlan.fault("'topics' is empty") }
                for topic in client.topics {
                    if let fault = PushNotification.faults(topic: topic).first {
                        throw GatewayPlan.fault(fault.message)
                    }
                }
                guard !clients.contains(where: { $0.name == client.name }) else {
                    throw GatewayPlan.fault("another client has the name, and rows know their client by it")
                }
                clients.append(
                    WorkerClient(
                        name: client.name,
                        upstream: try GatewayPlan.upstream(of: client, names),
                        topics: client.topics,
                        repeatsUnknown: client.repeatsUnknown ?? file.repeatsUnknown ?? true
                    )
                )
            }
        }
        guard !clients.isEmpty else { throw GatewayPlan.fault("'clients' is empty: every row would be refused") }
        self.upstreams = upstreams
        self.secrets = secrets
        self.worker = QueueWorker.Configuration(postgres: file.postgres, clients: clients)
        if let connections = file.connections { self.worker.connections = connections }
        if let batch = file.batch { self.worker.batch = batch }
        if let keep = file.keep { self.worker.keep = keep }
        self.worker.keepsAccepted = file.keepsAccepted ?? true
        self.logLevel = file.logLevel
        var admin = file.admin ?? AdminSettings()
        admin.socket = admin.socket.map { URL(filePath: $0, relativeTo: directory).path }
        self.admin = try GatewayPlan.named("worker.admin") {
            try AdminPlan(admin, .members, of: .worker, store: nil) { try path($0, $1.rawValue) }
        }
    }
}

extension WorkerPlan {
    /// The members that a worker reads.
    private struct File {
        var postgres: String
        var upstreams: [String: GatewayFile.Upstream] = [:]
        var clients: [GatewayFile.Client] = []
        var repeatsUnknown: Bool?
        var logLevel: LogMessage.Level?
        var connections: Int?
        var batch: Int?
        var keep: Duration?
        var keepsAccepted: Bool?
        /// The settings of 'worker.admin', and not those of the gateway, which may run on the same machine.
        var admin: AdminSettings?

        init(_ text: [UInt8]) throws(OptionFault) {
            var object = try OptionObject(text, of: .gateway)
            let none = OptionObject(of: .gateway)
            var store = object.require("store", try object.object("store"), or: none)
            var upstreams = object.require("upstreams", try object.object("upstreams"), or: none)
            let clients = object.require("clients", try object.objects("clients"), or: [])
            var worker = try object.object("worker") ?? none
            self.repeatsUnknown = try object.take("repeatsUnknown", .flag)?.isOn
            self.logLevel = try object.take("logLevel", GatewayFile.levels).flatMap { .init(rawValue: $0.text) }
            for name in ["listen", "rejections", "admin"] { object.leave(name) }
            self.postgres = ""
            try object.end()
            self.postgres = store.require("postgres", try store.take("postgres", .secret)?.text, or: "")
            for name in ["path", "fsync", "node", "away", "rejections"] { store.leave(name) }
            try store.end()
            for name in upstreams.members.keys.sorted() {
                if let upstream = try upstreams.object(name) {
                    self.upstreams[name] = try GatewayFile.Upstream(upstream)
                }
            }
            for client in clients { self.clients.append(try GatewayFile.Client(client)) }
            // 64 sessions of 2,000 rows are more than PostgreSQL has use for.
            self.connections = try worker.take("connections", .count(1...64))?.count
            self.batch = try worker.take("batch", .count(1...2000))?.count
            let outcomes = try worker.object("outcomes")
            let admin = try worker.object("admin")
            try worker.end()
            if var outcomes {
                // Days; a shorter time is a fraction.
                self.keep = try outcomes.take("keep", .number(0.001...3650)).map { .seconds($0.number * 86_400) }
                self.keepsAccepted = try outcomes.take("accepted", .flag)?.isOn
                try outcomes.end()
            }
            self.admin = try admin.map { (admin) throws(OptionFault) in try AdminSettings(admin) }
        }
    }
}

internal import Ferry
internal import FerryCore
internal import FerryForwarding
internal import FerryGateway
internal import FerryOpenSSL
internal import FerryOptions
internal import FerryPlatform
internal import FerryProxy
internal import FerryTerminal

/// The meaning of a configuration file: the gateway, its upstreams and its files.
struct GatewayPlan {
    var gateway: Gateway.Configuration
    var upstreams: [HTTP2Configuration]
    /// The name of each upstream, for messages.
    var upstreamNames: [String]
    var rejections: String?
    var store: (path: String, fsync: Bool)?
    /// The database that several gateways share, in place of the file.
    var database: GatewayDatabase?
    var admin: AdminPlan
    /// Whether 'listen' is a list.
    var isListenList: Bool
    /// The lowest level of messages that the file gives.
    var logLevel: LogMessage.Level?
    /// The files with private keys, each once.
    var keys: [OptionFile] = []
    /// Where the credentials of each upstream are.
    var credentialFiles: [CredentialFiles]
    /// The files with passwords for proxies.
    var passwords: [OptionFile] = []
    /// The upstreams whose proxy is named by a variable of the process and not by the configuration.
    var foundProxies: [(upstream: String, host: String, found: ProxyEnvironment.Found)] = []
    /// The certificates that this gateway shows or trusts.
    var certificates: [CertificateWarnings.Entry] = []
    /// The files that were read, as they were before the reading.
    var files = ReadFiles()

    /// - Parameter tokens: the sources of provider tokens of this process.
    /// - Throws: ``CommandFailure`` that names the member at fault.
    init(
        _ file: GatewayFile,
        directory: URL,
        tokens: TokenSources = TokenSources(),
        environment: ProxyEnvironment = ProxyEnvironment()
    ) throws {
        func output(_ name: String) -> String { URL(filePath: name, relativeTo: directory).path }
        let files = ReadFilesNote()
        func path(_ name: String, _ member: String) throws -> String {
            let path = output(name)
            // The name may be a secret in place of a path. Errors of a later read know only the whole path, and would
            // show it.
            let file = FileName(path, givenAs: name)
            guard file.shown != nil else { throw Self.fault(file.sentence("does not exist", option: "'\(member)'")) }
            files.note(path)
            return path
        }
        guard !file.listen.isEmpty else { throw Self.fault("'listen' is empty: no client could connect") }
        guard !file.upstreams.isEmpty else { throw Self.fault("'upstreams' is empty: nothing could be delivered") }
        guard !file.clients.isEmpty else { throw Self.fault("'clients' is empty: no client could connect") }
        let upstreamNames = file.upstreams.keys.sorted()
        guard !upstreamNames.contains(where: { $0.utf8.contains(0) }) else {
            throw Self.fault("'upstreams': a name has a zero byte")
        }
        self.upstreamNames = upstreamNames
        self.upstreams = try upstreamNames.map { name in
            guard let upstream = file.upstreams[name] else { throw Self.fault("'upstreams' has no '\(name)'") }
            return try Self.named("upstreams.\(name)") { try Self.configuration(upstream, name, tokens, path) }
        }
        self.credentialFiles = upstreamNames.compactMap { name in
            file.upstreams[name].map { CredentialFiles($0, output) }
        }
        let upstreamTables = try zip(upstreamNames, self.upstreams).map { name, configuration in
            try Self.table(name, configuration, file.upstreams[name], output)
        }
        let listenUpstreams = try file.listen.enumerated().map { index, listen -> Int? in
            guard let name = listen.upstream else { return nil }
            guard let upstream = upstreamNames.firstIndex(of: name) else {
                throw Self.fault("\(file.listenMember(index, "upstream")): there is no upstream '\(name)'")
            }
            return upstream
        }
        var table = ClientTable(upstreamTables, listenUpstreams)
        var signs: [GatewayClients.Sign] = []
        for (index, client) in file.clients.enumerated() {
            try Self.named("clients[\(index)]") {
                let upstream = try table.needsOwn ? Self.upstream(of: client, upstreamNames) : nil
                if !table.needsOwn, let name = client.upstream, !upstreamNames.contains(name) {
                    throw Self.fault("there is no upstream '\(name)'")
                }
                try Self.check(client, index, file)
                var identity = ClientIdentity(name: client.name, routes: [])
                identity.repeatsUnknown = client.repeatsUnknown ?? file.repeatsUnknown ?? true
                identity.mode = client.mode
                identity.resends = client.resends
                guard identity.mode == .verdict || file.store != nil else {
                    throw Self.fault(
                        "'mode' \"spool\" needs 'store': without one, a kill would lose what the client counts as sent"
                    )
                }
                let hasAuthorities = file.listen.contains { $0.clientCA != nil }
                let sign = try Self.sign(of: client, hasAuthorities: hasAuthorities, path)
                identity.sign = sign
                table.add(identity, client.topics, own: upstream)
                if case .fingerprints(let new) = sign {
                    for (index, other) in signs.enumerated() {
                        guard case .fingerprints(let known) = other, !known.isDisjoint(with: new) else { continue }
                        throw Self.fault("clients[\(index)] has the same certificate")
                    }
                }
                signs.append(sign)
            }
        }
        if let name = table.ambiguous {
            throw Self.fault(
                "'clients': '\(name.printable)' is too long with its upstream, or the name of another client with one"
            )
        }
        let doors = try file.listen.enumerated().map { index, listen in
            try Self.named(file.isListenList ? "listen[\(index)]" : "listen") {
                let isShared = file.store?.postgres != nil
                return try Self.door(
                    listen,
                    signs,
                    table.identities(through: index),
                    isShared: isShared,
                    output,
                    path
                )
            }
        }
        try Self.checkAddresses(doors, file)
        var gateway = Gateway.Configuration(
            identity: doors[0].identity,
            clients: doors[0].clients,
            identities: table.identities,
            routes: table.routes
        )
        gateway.doors = doors
        gateway.upstreams = upstreamTables
        self.gateway = gateway
        self.logLevel = file.logLevel
        self.isListenList = file.isListenList
        self.rejections = file.rejections.map(output)
        self.store = file.store.flatMap { store in store.path.map { (output($0), store.fsync ?? false) } }
        self.database = try GatewayDatabase(file, doors)
        let store = self.store?.path
        var admin = file.admin ?? AdminSettings()
        admin.socket = admin.socket.map(output)
        self.admin = try Self.named("admin") {
            try AdminPlan(admin, .members, of: .gateway, store: store) { try path($0, $1.rawValue) }
        }
        self.certificates = Self.certificates(
            file,
            identities: doors.map(\.identity),
            upstreams: zip(upstreamNames, self.upstreams).map { (name: $0, configuration: $1) },
            admin: self.admin.identity,
            output
        )
        for (index, listen) in file.listen.enumerated() {
            self.note(key: output(listen.key), "'\(file.listenMember(index, "key"))'")
        }
        if let key = file.admin?.key { self.note(key: output(key), "'admin.key'") }
        for name in upstreamNames {
            let upstream = file.upstreams[name]
            if let p8 = upstream?.text("p8") {
                self.note(key: output(p8), "'upstreams.\(name).p8'")
            } else if let key = upstream?.text("key") ?? upstream?.text("cert") {
                self.note(key: output(key), "'upstreams.\(name).key'")
            }
        }
        for (index, name) in upstreamNames.enumerated() {
            guard let upstream = file.upstreams[name] else { continue }
            try Self.named("upstreams.\(name)") { try self.setProxy(upstream, at: index, environment, path) }
        }
        self.files = files.files
    }

    /// The name and the address of each upstream.
    var upstreamAddresses: [(name: String, address: String)] {
        zip(self.upstreamNames, self.upstreams).map { ($0, Endpoint.text($1.host, $1.port)) }
    }

    var hasFeedback: Bool { self.gateway.doors.contains { $0.feedbackPort != nil } }

    /// Whether a listener takes clients that know nothing newer than TLS 1.0.
    var isLegacy: Bool { self.gateway.doors.contains { $0.tlsProfile == .legacy } }

    /// Refuses one file for two purposes: the lines of the list of rejections, for one, would destroy the store or
    /// the configuration.
    ///
    /// - Parameter configuration: the path of the configuration.
    func requireOwnFiles(beside configuration: String) throws(CommandFailure) {
        var others = [("the configuration", configuration)] + (self.keys + self.passwords).map { ($0.option, $0.path) }
        for (member, path) in [("'store.path'", self.store?.path), ("'rejections'", self.rejections)] {
            guard let path else { continue }
            let identity = FileIdentity(path: path)
            if let (other, _) = others.first(where: {
                $0.1 == path || identity != nil && FileIdentity(path: $0.1) == identity
            }) {
                throw Self.fault("\(member) is the same file as \(other): give it one of its own")
            }
            others.append((member, path))
        }
    }

    private mutating func note(key path: String, _ option: String) {
        let file = OptionFile(option, path)
        if !self.keys.contains(where: { $0.path == file.path }) { self.keys.append(file) }
    }

    static func upstream(of client: GatewayFile.Client, _ names: [String]) throws -> Int {
        guard let name = client.upstream else {
            guard names.count == 1 else {
                throw self.fault("'upstream' is missing: name one of \(names.joined(separator: ", "))")
            }
            return 0
        }
        guard let index = names.firstIndex(of: name) else { throw self.fault("there is no upstream '\(name)'") }
        return index
    }

    private static func sign(
        of client: GatewayFile.Client,
        hasAuthorities: Bool,
        _ path: (String, String) throws -> String
    ) throws -> GatewayClients.Sign {
        let given = [
            ("anyone", client.anyone == true), ("userID", client.userID != nil),
            (client.cert == nil ? "fingerprints" : "cert", client.cert != nil || client.fingerprints?.isEmpty == false),
        ].filter { $0.1 }
        // The second would be ignored, and a client with that sign alone would be refused.
        guard given.count < 2 else {
            throw self.fault("'\(given[0].0)' and '\(given[1].0)' are both given: a client is known by one of them")
        }
        if client.anyone == true { return .anyone }
        if let userID = client.userID {
            guard hasAuthorities else {
                throw self.fault("'userID' needs 'listen.clientCA', the authorities that sign its certificate")
            }
            return .userID(userID)
        }
        var fingerprints: Set<[UInt8]> = []
        for text in client.fingerprints ?? [] {
            let digits = text.filter { $0 != ":" && $0 != " " }
            guard digits.utf8.count == 64, let token = try? DeviceToken(hex: digits) else {
                throw self.fault("a fingerprint is not 64 hex digits: it is the SHA-256 of the certificate")
            }
            fingerprints.insert(token.bytes)
        }
        if let cert = client.cert {
            let file = try path(cert, "cert")
            let chain = try CertificateChain(certificates: OptionFile("'cert'", file).bytes(), source: file)
            if let own = chain.certificates.first { fingerprints.insert(own.fingerprint) }
        }
        guard !fingerprints.isEmpty else {
            throw self.fault("say how it is known: 'cert', 'fingerprints', 'userID' or 'anyone'")
        }
        return .fingerprints(fingerprints)
    }

    static func configuration(
        _ upstream: GatewayFile.Upstream,
        _ name: String,
        _ tokens: TokenSources,
        _ path: (String, String) throws -> String
    ) throws -> HTTP2Configuration {
        let credentials: HTTP2Configuration.Credentials
        if let p8 = upstream.text("p8") {
            if let other = ["cert", "key"].first(where: { upstream.values[$0] != nil }) {
                throw self.fault("'p8' and '\(other)' are both given: an upstream has one credential")
            }
            guard let keyID = upstream.text("keyId"), let teamID = upstream.text("teamId") else {
                throw self.fault("'p8' needs 'keyID' and 'teamID'")
            }
            credentials = .token(try tokens.source(of: name, p8: path(p8, "p8"), keyID: keyID, teamID: teamID))
        } else if let cert = upstream.text("cert") {
            let key = upstream.text("key") ?? cert
            credentials = .certificate(
                try TLSIdentity(certificatePath: path(cert, "cert"), privateKeyPath: path(key, "key"))
            )
        } else {
            throw self.fault("give 'p8', 'keyID' and 'teamID', or 'cert' and 'key'")
        }
        var configuration = HTTP2Configuration(
            production: upstream.values["sandbox"]?.isOn != true,
            credentials: credentials,
            outcomes: .discard
        )
        if let to = upstream.text("to") {
            guard let endpoint = Endpoint(argument: to) else { throw self.fault("'to' is not HOST:PORT") }
            configuration.host = endpoint.host
            configuration.port = endpoint.port ?? HTTP2Configuration.defaultPort
        }
        if let ca = upstream.text("ca") { configuration.trustRoots = .file(try path(ca, "ca")) }
        configuration.options.set { upstream.values[$0.name] }
        return configuration
    }

    static func fault(_ message: String) -> CommandFailure { .usage(message) }

    /// Names the member of the configuration in an error of `body`.
    static func named<Result>(_ member: String, _ body: () throws -> Result) throws -> Result {
        do {
            return try body()
        } catch let failure as CommandFailure {
            throw self.fault("\(member): \(failure.message)")
        } catch let error as TLSError {
            throw self.fault("\(member): \(self.naming(error))")
        } catch {
            throw self.fault("\(member): \(Sentence.of(error))")
        }
    }

    /// The error with remedies that name members of the configuration. The remedies of the library name its calls.
    private static func naming(_ error: TLSError) -> String {
        let sentence = Sentence.of(error)
        guard let remedy = error.wrongCredentials?.remedy else { return sentence }
        let words =
            switch remedy {
            case .readAsArchive: GatewayFile.archiveCure
            case .readAsCertificate: "name it as 'cert', and its key as 'key'"
            case .giveKey: "name the file of its key as 'key'"
            case .useAsTokenKey: "\(WrongCredentials.Remedy.ofTokens) name it as 'p8', with 'keyID' and 'teamID'"
            case .giveTokenKey where error.wrongCredentials?.form == .pkcs12:
                "\(remedy.words), or \(GatewayFile.archiveCure) as 'cert' and as 'key'"
            case .giveTokenKey, .takeCertificatesOut: remedy.words
            }
        return sentence.replacing(remedy.words, with: words)
    }
}

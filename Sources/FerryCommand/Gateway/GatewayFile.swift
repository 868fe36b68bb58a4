internal import FerryGateway
internal import FerryOptions

/// The configuration of `ferry gateway`: a JSON object. Paths are relative to its file.
struct GatewayFile {
    /// Where old clients connect.
    struct Listen {
        var host: String?
        var port: Int?
        /// The port of the feedback service; nil for no service.
        var feedbackPort: Int?
        var cert: String
        var key: String
        /// The file of the authorities whose clients may be recognized by `userID`.
        var clientCA: String?
        /// Whether clients that know nothing newer than TLS 1.0 are accepted.
        var legacyTLS: Bool?

        private static let port: OptionKind = .count(0...65_535)

        init(_ object: OptionObject) throws(OptionFault) {
            var object = object
            self.host = try object.take("host", .text)?.text
            self.port = try object.take("port", Self.port)?.count
            self.feedbackPort = try object.take("feedbackPort", Self.port)?.count
            self.cert = object.require("cert", try object.take("cert", .file)?.text, or: "")
            self.key = object.require("key", try object.take("key", .file)?.text, or: "")
            self.clientCA = try object.take("clientCA", .file)?.text
            self.legacyTLS = try object.take("legacyTLS", .flag)?.isOn
            try object.endWithoutArchive()
        }
    }

    /// Where notifications go.
    struct Upstream {
        /// The given options, by their names in the table.
        var values: [String: OptionValue] = [:]

        init(_ object: OptionObject) throws(OptionFault) {
            var object = object
            for option in ProviderOption.all { self.values[option.name] = try object.take(option) }
            try object.endWithoutArchive()
        }

        func text(_ name: String) -> String? { self.values[name]?.text }
    }

    /// An old stack.
    struct Client {
        var name: String
        /// The SHA-256 fingerprints of the client's certificates, as hex digits.
        var fingerprints: [String]?
        /// A file with the client's certificate, in place of the fingerprint.
        var cert: String?
        var userID: String?
        /// Whether any client matches. It is allowed on the loopback address only.
        var anyone: Bool?
        var topics: [String]
        /// The name of the client's upstream. It may be left out if there is only one upstream.
        var upstream: String?
        var mode: GatewayIdentity.Mode
        /// Whether it sends again what followed an error; without it, the gateway finds out.
        var resends: Bool?
        /// Whether a notification that may have arrived is sent once more; nil for the value of
        /// ``GatewayFile/repeatsUnknown``.
        var repeatsUnknown: Bool?

        private static let modes: OptionKind = .choice(GatewayIdentity.Mode.allCases.map(\.rawValue))

        init(_ object: OptionObject) throws(OptionFault) {
            var object = object
            self.name = object.require("name", try object.take("name", .text)?.text, or: "")
            self.fingerprints = try object.take("fingerprints", .texts)?.texts
            self.cert = try object.take("cert", .file)?.text
            self.userID = try object.take("userID", .text)?.text
            self.anyone = try object.take("anyone", .flag)?.isOn
            self.topics = object.require("topics", try object.take("topics", .texts)?.texts, or: [])
            self.upstream = try object.take("upstream", .text)?.text
            self.mode = try object.take("mode", Self.modes).flatMap { .init(rawValue: $0.text) } ?? .verdict
            self.resends = try object.take("resends", .flag)?.isOn
            self.repeatsUnknown = try object.take("repeatsUnknown", .flag)?.isOn
            try object.end()
        }
    }

    /// The file that keeps what a killed process must not lose.
    struct Store {
        var path: String
        /// Whether a loss of power must not lose anything either.
        var fsync: Bool?

        init(_ object: OptionObject) throws(OptionFault) {
            var object = object
            self.path = object.require("path", try object.take("path", .file)?.text, or: "")
            self.fsync = try object.take("fsync", .flag)?.isOn
            try object.end()
        }
    }

    var listen: Listen
    var upstreams: [String: Upstream]
    var clients: [Client]
    /// The file of the list of rejections and dead letters, one JSON line for each.
    var rejections: String?
    var store: Store?
    /// Whether a notification that may have arrived is sent once more. The default is true.
    var repeatsUnknown: Bool?

/// What a configuration file means.
struct GatewayPlan {
    var gateway: Gateway.Configuration
    var upstreams: [HTTP2Configuration]
    /// The name of each upstream, for messages.
    var upstreamNames: [String]
    var rejections: String?
    var store: (path: String, fsync: Bool)?
    /// The files with private keys, each once.
    var keys: [OptionFile] = []
    /// The certificates that this gateway shows or trusts.
    var certificates: [CertificateEnds.Entry] = []

    /// - Throws: ``OptionFault`` that names the first member at fault.
    init(_ text: [UInt8]) throws(OptionFault) {
        var object = try OptionObject(text, of: .gateway)
        // The objects inside are read once all names here are known to exist.
        let none = OptionObject(of: .gateway)
        let listen = object.require("listen", try object.object("listen"), or: none)
        var upstreams = object.require("upstreams", try object.object("upstreams"), or: none)
        let clients = object.require("clients", try object.objects("clients"), or: [])
        self.rejections = try object.take("rejections", .file)?.text
        let store = try object.object("store")
        self.repeatsUnknown = try object.take("repeatsUnknown", .flag)?.isOn
        try object.end()
        self.listen = try Listen(listen)
        self.upstreams = [:]
        for name in upstreams.members.keys.sorted() {
            if let upstream = try upstreams.object(name) { self.upstreams[name] = try Upstream(upstream) }
        }
        guard !file.upstreams.isEmpty else { throw Self.fault("'upstreams' is empty: nothing could be delivered") }
        guard !file.clients.isEmpty else { throw Self.fault("'clients' is empty: no client could connect") }
        let upstreamNames = file.upstreams.keys.sorted()
        self.upstreamNames = upstreamNames
        self.upstreams = try upstreamNames.map { name in
            guard let upstream = file.upstreams[name] else { throw Self.fault("'upstreams' has no '\(name)'") }
            return try Self.named("upstreams.\(name)") { try Self.configuration(upstream, path) }
        }
        let upstreamKeys = zip(upstreamNames, self.upstreams).map { name, upstream in
            GatewayUpstream.key(upstream, keyID: file.upstreams[name]?.keyID)
        }
        var routes: [Route] = []
        var identities: [GatewayIdentity] = []
        var signs: [(sign: GatewayClients.Sign, identity: Int)] = []
        for (index, client) in file.clients.enumerated() {
            try Self.named("clients[\(index)]") {
                let upstream = try Self.upstream(of: client, upstreamNames)
                guard !client.topics.isEmpty else { throw Self.fault("'topics' is empty: name the app's bundle ID") }
                // The store and the list know a client by its name.
                guard (1...255).contains(client.name.utf8.count) else {
                    throw Self.fault("'name' has to have 1 to 255 bytes")
                }
                if let other = identities.firstIndex(where: { $0.name == client.name }) {
                    throw Self.fault("clients[\(other)] has the same name")
                }
                var numbers: [Int] = []
                for topic in client.topics {
                    guard !topic.contains("*") else {
                        throw Self.fault(
                            "a topic has a '*', which stands for nothing here: name each app's bundle ID as a topic of its own"
                        )
                    }
                    guard PushNotification.faults(topic: topic).isEmpty else {
                        throw Self.fault(
                            "the topic '\(topic.printable)' is malformed: an app's bundle ID has no spaces"
                        )
                    }
                    // APNs' answers about a topic with a credential hold for all clients.
                    let known = routes.firstIndex { $0.upstream == upstream && $0.topic.elementsEqual(topic.utf8) }
                    if known == nil {
                        let key = upstreamKeys[upstream]
                        routes.append(Route(upstream: upstream, topic: Array(topic.utf8), upstreamKey: key))
                    }
                    let number = known ?? routes.count - 1
                    if !numbers.contains(number) { numbers.append(number) }
                }
                var identity = GatewayIdentity(name: client.name, routes: numbers)
                identity.repeatsUnknown = client.repeatsUnknown ?? file.repeatsUnknown ?? true
                identity.mode = try Self.mode(client.mode)
                identity.resends = client.resends
                guard identity.mode == .verdict || file.store != nil else {
                    throw Self.fault(
                        "'mode' \"spool\" needs 'store': without one, a kill would lose what the client counts as sent"
                    )
                }
                identities.append(identity)
                let sign = try Self.sign(of: client, hasAuthorities: file.listen.clientCA != nil, path)
                if case .fingerprints(let new) = sign {
                    for (other, index) in signs {
                        guard case .fingerprints(let known) = other, !known.isDisjoint(with: new) else { continue }
                        throw Self.fault("clients[\(index)] has the same certificate")
                    }
                }
                signs.append((sign, index))
            }
        }
        let listen = file.listen
        let identity = try Self.named("listen") {
            // A listener reads it again; here its faults are found by --check, too.
            if let clientCA = try listen.clientCA.map({ try path($0, "clientCA") }) {
                _ = try CertificateChain(certificates: OptionFile("'clientCA'", clientCA).bytes(), source: clientCA)
            }
            return try TLSIdentity(
                certificatePath: path(listen.cert, "cert"),
                privateKeyPath: path(listen.key, "key")
            )
        }
        let clients = GatewayClients(signs, trustRoots: listen.clientCA.map { .file(output($0)) })
        var gateway = Gateway.Configuration(
            identity: identity,
            clients: clients,
            identities: identities,
            routes: routes
        )
        gateway.host = listen.host ?? gateway.host
        gateway.port = listen.port ?? BinaryConfiguration.defaultPort
        gateway.feedbackPort = listen.feedbackPort
        for (name, port) in [("port", listen.port), ("feedbackPort", listen.feedbackPort)] {
            guard let port, !(0...Int(UInt16.max)).contains(port) else { continue }
            throw Self.fault("'listen.\(name)' must be 0 to \(UInt16.max)")
        }
        if let port = gateway.feedbackPort, port == gateway.port, port != 0 {
            throw Self.fault("'listen.feedbackPort' is the same as 'listen.port'")
        }
        gateway.tlsProfile = listen.legacyTLS == true ? .legacy : .modern
        self.gateway = gateway
        self.rejections = file.rejections.map(output)
        self.store = file.store.map { (output($0.path), $0.fsync ?? false) }
        self.certificates = Self.certificates(
            file,
            identity: identity,
            upstreams: zip(upstreamNames, self.upstreams).map { (name: $0, configuration: $1) },
            output
        )
        self.note(key: output(listen.key), "'listen.key'")
        for name in upstreamNames {
            let upstream = file.upstreams[name]
            if let p8 = upstream?.p8 {
                self.note(key: output(p8), "'upstreams.\(name).p8'")
            } else if let key = upstream?.key ?? upstream?.cert {
                self.note(key: output(key), "'upstreams.\(name).key'")
            }
        }
        if clients.takesAnyone, !["127.0.0.1", "::1", "localhost"].contains(gateway.host) {
            throw Self.fault("a client that may be 'anyone' needs 'listen.host' 127.0.0.1, or the world could send")
        }
    }

    /// The first topic of each client.
    var firstTopics: [GatewayMessages.Topic] {
        self.gateway.identities.compactMap { identity in
            identity.routes.first.map { self.gateway.routes[$0] }.map {
                GatewayMessages.Topic(upstream: $0.upstream, name: String(decoding: $0.topic, as: UTF8.self))
            }
        }
    }

    /// Refuses one file for two purposes: the lines of the list in the store, or in the configuration, would destroy it.
    ///
    /// - Parameter configuration: the path of the configuration.
    func requireOwnFiles(beside configuration: String) throws(CommandFailure) {
        var others = [("the configuration", configuration)] + self.keys.map { ($0.option, $0.path) }
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

    private static func mode(_ name: String?) throws(CommandFailure) -> GatewayIdentity.Mode {
        guard let name else { return .verdict }
        guard let mode = GatewayIdentity.Mode(rawValue: name) else {
            let names = GatewayIdentity.Mode.allCases.map { "\"\($0.rawValue)\"" }.joined(separator: " or ")
            throw Self.fault("'mode' must be \(names)")
        }
        return mode
    }

    private static func upstream(of client: GatewayFile.Client, _ names: [String]) throws -> Int {
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
        // The second would count for nothing, and its client be a stranger.
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

    private static func configuration(
        _ upstream: GatewayFile.Upstream,
        _ path: (String, String) throws -> String
    ) throws -> HTTP2Configuration {
        let credentials: HTTP2Configuration.Credentials
        if let p8 = upstream.p8 {
            guard upstream.cert == nil, upstream.key == nil else {
                let other = upstream.cert == nil ? "key" : "cert"
                throw self.fault("'p8' and '\(other)' are both given: an upstream has one credential")
            }
            guard let keyID = upstream.keyID, let teamID = upstream.teamID else {
                throw self.fault("'p8' needs 'keyID' and 'teamID'")
            }
            credentials = .token(
                try ProviderTokenSource(key: ES256Key(path: path(p8, "p8")), keyID: keyID, teamID: teamID)
            )
        } else if let cert = upstream.cert {
            credentials = .certificate(
                try TLSIdentity(certificatePath: path(cert, "cert"), privateKeyPath: path(upstream.key ?? cert, "key"))
            )
        } else {
            throw self.fault("give 'p8', 'keyID' and 'teamID', or 'cert' and 'key'")
        }
        var configuration = HTTP2Configuration(
            production: upstream.sandbox != true,
            credentials: credentials,
            outcomes: .discard
        )
        if let to = upstream.to {
            guard let endpoint = Endpoint(argument: to) else { throw self.fault("'to' is not HOST:PORT") }
            configuration.host = endpoint.host
            configuration.port = endpoint.port ?? HTTP2Configuration.defaultPort
        }
        if let ca = upstream.ca { configuration.trustRoots = .file(try path(ca, "ca")) }
        for (name, seconds) in [("pingInterval", upstream.pingInterval), ("idleCheck", upstream.idleCheck)] {
            guard let seconds, !(1...86_400).contains(seconds) else { continue }
            throw Self.fault("'\(name)' must be 1 to 86400 seconds")
        }
        if let seconds = upstream.pingInterval { configuration.options.pingInterval = .seconds(seconds) }
        if let seconds = upstream.idleCheck { configuration.options.idleCheck = .seconds(seconds) }
        return configuration
    }

    private static func fault(_ message: String) -> CommandFailure { .usage(message) }

    /// Names the member of the configuration in an error of `body`.
    private static func named<Result>(_ member: String, _ body: () throws -> Result) throws -> Result {
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

    /// The error in the words of a configuration: the library's remedies are calls.
    private static func naming(_ error: TLSError) -> String {
        let sentence = Sentence.of(error)
        guard let remedy = error.wrongCredentials?.remedy else { return sentence }
        let words =
            switch remedy {
            case .readAsArchive: GatewayMembers.archiveCure
            case .readAsCertificate: "name it as 'cert', and its key as 'key'"
            case .giveKey: "name the file of its key as 'key'"
            case .useAsTokenKey: "\(WrongCredentials.Remedy.ofTokens) name it as 'p8', with 'keyID' and 'teamID'"
            case .giveTokenKey where error.wrongCredentials?.form == .pkcs12:
                "\(remedy.words), or \(GatewayMembers.archiveCure) as 'cert' and as 'key'"
            case .giveTokenKey, .takeCertificatesOut: remedy.words
            }
        return sentence.replacing(remedy.words, with: words)
    }
}

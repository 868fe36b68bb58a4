internal import FerryGateway
internal import FerryOptions
internal import FerryShards
internal import FerryTerminal

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
        /// The server names (SNI) whose clients get this entry; nil for clients that no other entry at the address
        /// names.
        var serverNames: [String]?
        /// The name of the upstream of all clients that come through this entry; nil for each client's own.
        var upstream: String?
        /// The addresses and networks of the proxies through which clients come.
        var proxies: [String]?
        /// The shortest round trip that is assumed to a client behind a proxy.
        var proxyRoundTrip: Duration?

        private static let port: OptionKind = .count(0...65_535)
        /// Seconds. The rules for error responses were tried up to this round trip.
        private static let roundTrip: OptionKind = .number(0...20)

        init(_ object: OptionObject) throws(OptionFault) {
            var object = object
            self.host = try object.take("host", .text)?.text
            self.port = try object.take("port", Self.port)?.count
            self.feedbackPort = try object.take("feedbackPort", Self.port)?.count
            self.cert = object.require("cert", try object.take("cert", .file)?.text, or: "")
            self.key = object.require("key", try object.take("key", .file)?.text, or: "")
            self.clientCA = try object.take("clientCA", .file)?.text
            self.legacyTLS = try object.take("legacyTLS", .flag)?.isOn
            self.serverNames = try object.take("serverNames", .texts)?.texts
            self.upstream = try object.take("upstream", .text)?.text
            self.proxies = try object.take("proxies", .texts)?.texts
            self.proxyRoundTrip = try object.take("proxyRoundTrip", Self.roundTrip)?.time
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
        /// Whether every client matches. This is allowed only on a loopback address, and without proxies.
        var anyone: Bool?
        var topics: [String]
        /// The name of the client's upstream. It may be left out if there is only one upstream.
        var upstream: String?
        var mode: ClientIdentity.Mode
        /// Whether the client sends the notifications after a refused one again; nil if the gateway has to find out.
        var resends: Bool?
        /// Whether a notification that may have arrived is sent once more; nil for the value of
        /// ``GatewayFile/repeatsUnknown``.
        var repeatsUnknown: Bool?

        private static let modes: OptionKind = .choice(ClientIdentity.Mode.allCases.map(\.rawValue))

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

    /// The place that keeps what a killed process must not lose: a file, or a database that several gateways share.
    struct Store {
        /// The file; nil with a database.
        var path: String?
        /// Whether a loss of power must not lose anything either.
        var fsync: Bool?
        /// The connection string of a PostgreSQL database.
        var postgres: String?
        /// The name of this process at the database; nil for the host's name.
        var node: String?
        /// The behaviour of a gateway while the database is away.
        var away: ShardAway?
        /// How long the database keeps rejections.
        var rejections: Duration?

        private static let aways: OptionKind = .choice(ShardAway.allCases.map(\.rawValue))

        init(_ object: OptionObject) throws(OptionFault) {
            var object = object
            self.postgres = try object.take("postgres", .text)?.text
            self.node = try object.take("node", .text)?.text
            self.away = try object.take("away", Self.aways).flatMap { .init(rawValue: $0.text) }
            // Days; a shorter time is a fraction.
            self.rejections = try object.take("rejections", .number(0.001...3650)).map {
                .seconds($0.number * 86_400)
            }
            self.path = try object.take("path", .file)?.text
            if self.postgres == nil { _ = object.require("path", self.path, or: "") }
            self.fsync = try object.take("fsync", .flag)?.isOn
            try object.end()
        }
    }

    /// The entries of 'listen'. A file with one may have it without a list.
    var listen: [Listen]
    /// Whether 'listen' is a list.
    var isListenList: Bool
    var upstreams: [String: Upstream]
    var clients: [Client]
    /// The file of the list of rejections and dead letters, one JSON line for each.
    var rejections: String?
    var store: Store?
    var admin: AdminSettings?
    /// Whether a notification that may have arrived is sent once more. The default is true.
    var repeatsUnknown: Bool?
    /// The lowest level of messages. It counts more than the option of the command line, so that a reload can change it.
    var logLevel: LogMessage.Level?

    /// The remedy for a PKCS#12 archive. Without `-legacy`, OpenSSL 3 does not open those of old keychains.
    static let archiveCure =
        "convert it with 'openssl pkcs12 -in ARCHIVE -nodes -out both.pem' (an old one with -legacy), and name both.pem"

    static let levels: OptionKind = .choice(LogMessage.Level.allCases.map(\.rawValue))

    /// The name of a member of an entry of 'listen' in messages, such as `listen[1].port`.
    func listenMember(_ entry: Int, _ name: String) -> String {
        self.isListenList ? "listen[\(entry)].\(name)" : "listen.\(name)"
    }

    /// - Throws: ``OptionFault`` that names the first member at fault.
    init(_ text: [UInt8]) throws(OptionFault) {
        var object = try OptionObject(text, of: .gateway)
        // The inner objects are read after `end()`, which refuses unknown names in this object.
        let none = OptionObject(of: .gateway)
        if case .list = object.members["listen"] { self.isListenList = true } else { self.isListenList = false }
        let listen: [OptionObject]
        if self.isListenList {
            listen = try object.objects("listen") ?? []
        } else {
            listen = [object.require("listen", try object.object("listen"), or: none)]
        }
        var upstreams = object.require("upstreams", try object.object("upstreams"), or: none)
        let clients = object.require("clients", try object.objects("clients"), or: [])
        self.rejections = try object.take("rejections", .file)?.text
        let store = try object.object("store")
        let admin = try object.object("admin")
        self.repeatsUnknown = try object.take("repeatsUnknown", .flag)?.isOn
        // Of `ferry worker`.
        object.leave("worker")
        self.logLevel = try object.take("logLevel", Self.levels).flatMap { .init(rawValue: $0.text) }
        try object.end()
        self.listen = []
        for entry in listen { self.listen.append(try Listen(entry)) }
        self.upstreams = [:]
        for name in upstreams.members.keys.sorted() {
            if let upstream = try upstreams.object(name) { self.upstreams[name] = try Upstream(upstream) }
        }
        self.clients = []
        for client in clients { self.clients.append(try Client(client)) }
        self.store = try store.map { (store) throws(OptionFault) in try Store(store) }
        self.admin = try admin.map { (admin) throws(OptionFault) in try AdminSettings(admin) }
    }
}

extension AdminSettings {
    init(_ object: OptionObject) throws(OptionFault) {
        var object = object
        self.socket = try object.take("socket", .file)?.text
        self.host = try object.take("host", .text)?.text
        self.port = try object.take("port", .count(0...65_535))?.count
        self.tokenFile = try object.take("tokenFile", .file)?.text
        self.cert = try object.take("cert", .file)?.text
        self.key = try object.take("key", .file)?.text
        try object.endWithoutArchive()
    }
}

extension OptionObject {
    /// The names that configurations of other programs have for an archive.
    private static let archiveNames: Set<String> = ["p12", "pfx", "pkcs12", "p12file", "pfxdata"]

    /// Refuses the members that were not taken from an object with 'cert' and 'key'. The fault for an archive has a
    /// remedy.
    fileprivate func endWithoutArchive() throws(OptionFault) {
        guard let name = self.members.keys.sorted().first(where: { Self.archiveNames.contains($0.lowercased()) }) else {
            return try self.end()
        }
        throw OptionFault(
            "There is no option \(self.place(name)) here: an archive (PKCS#12) is not read here: \(GatewayFile.archiveCure) as "
                + "'cert' and as 'key'."
        )
    }
}

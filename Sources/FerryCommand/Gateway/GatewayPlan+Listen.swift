internal import Ferry
internal import FerryCore
internal import FerryForwarding
internal import FerryGateway
internal import FerryOpenSSL
internal import FerryOptions
internal import FerryPlatform
internal import FerryServer
internal import FerryTerminal
internal import NIOCore

/// The entries of 'listen', and the clients that come through them.
extension GatewayPlan {
    /// Checks the name and the topics of a client.
    static func check(_ client: GatewayFile.Client, _ index: Int, _ file: GatewayFile) throws(CommandFailure) {
        guard !client.topics.isEmpty else { throw self.fault("'topics' is empty: name the app's bundle ID") }
        // The store and the list know a client by its name.
        guard (1...255).contains(client.name.utf8.count) else {
            throw self.fault("'name' has to have 1 to 255 bytes")
        }
        guard !client.name.utf8.contains(0) else { throw self.fault("'name' has a zero byte") }
        if let other = file.clients[..<index].firstIndex(where: { $0.name == client.name }) {
            throw self.fault("clients[\(other)] has the same name")
        }
        for topic in client.topics {
            guard !topic.contains("*") else {
                throw self.fault(
                    "a topic has a '*', which stands for nothing here: name each app's bundle ID as a topic of its own"
                )
            }
            guard PushNotification.faults(topic: topic).isEmpty else {
                throw self.fault("the topic '\(topic.printable)' is malformed: an app's bundle ID has no spaces")
            }
        }
    }

    /// Makes the door of an entry.
    ///
    /// - Parameters:
    ///   - signs: the sign by which each client is known.
    ///   - identities: the number of each client's identity behind this door.
    ///   - isShared: whether several gateways share their store.
    static func door(
        _ listen: GatewayFile.Listen,
        _ signs: [GatewayClients.Sign],
        _ identities: [Int],
        isShared: Bool,
        _ output: (String) -> String,
        _ path: (String, String) throws -> String
    ) throws -> Gateway.Door {
        // The listener reads the file of 'clientCA' again. The read here lets --check find its faults, too.
        var authorities: Set<[UInt8]> = []
        if let clientCA = try listen.clientCA.map({ try path($0, "clientCA") }) {
            let chain = try CertificateChain(
                certificates: OptionFile("'clientCA'", clientCA).bytes(),
                source: clientCA
            )
            authorities = Set(chain.certificates.map(\.fingerprint))
        }
        let identity = try TLSIdentity(
            certificatePath: path(listen.cert, "cert"),
            privateKeyPath: path(listen.key, "key")
        )
        let clients = GatewayClients(
            zip(signs, identities).map { (sign: $0, identity: $1) },
            trustRoots: listen.clientCA.map { .file(output($0)) },
            authorities: authorities
        )
        var door = Gateway.Door(identity: identity, clients: clients)
        door.host = listen.host ?? door.host
        door.port = listen.port ?? (isShared ? GatewayDatabase.defaultPort : BinaryConfiguration.defaultPort)
        door.feedbackPort = listen.feedbackPort
        door.serverNames = listen.serverNames ?? []
        door.tlsProfile = listen.legacyTLS == true ? .legacy : .modern
        door.proxies = try self.proxies(listen)
        return door
    }

    /// The round trip that is assumed to a client behind a proxy, unless the configuration gives one.
    private static let proxyRoundTrip: Duration = .milliseconds(100)

    private static func proxies(_ listen: GatewayFile.Listen) throws(CommandFailure) -> TrustedProxies {
        let names = listen.proxies ?? []
        guard listen.proxyRoundTrip == nil || !names.isEmpty else {
            throw self.fault("'proxyRoundTrip' needs 'proxies', the addresses of the proxies")
        }
        let networks = try names.map { (name) throws(CommandFailure) in
            guard let network = IPNetwork(name) else {
                throw self.fault(
                    "'proxies' has '\(name.printable)', which is neither an address nor a network such as 10.0.0.0/8"
                )
            }
            return network
        }
        return TrustedProxies(networks, roundTrip: TimeAmount(listen.proxyRoundTrip ?? self.proxyRoundTrip))
    }

    /// Checks that the entries at one address can share it, and that clients which may be 'anyone' are on this
    /// machine.
    static func checkAddresses(_ doors: [Gateway.Door], _ file: GatewayFile) throws(CommandFailure) {
        for (index, door) in doors.enumerated() {
            if let port = door.feedbackPort, port == door.port, port != 0 {
                throw self.fault(
                    "'\(file.listenMember(index, "feedbackPort"))' is the same as '\(file.listenMember(index, "port"))'"
                )
            }
            if door.clients.takesAnyone, !HostName.loopback.contains(door.host) {
                throw self.fault(
                    "a client that may be 'anyone' needs '\(file.listenMember(index, "host"))' 127.0.0.1, or the world "
                        + "could send"
                )
            }
            if door.clients.takesAnyone, !door.proxies.networks.isEmpty {
                throw self.fault(
                    "a client that may be 'anyone' cannot come through '\(file.listenMember(index, "proxies"))': all that "
                        + "reach the proxy could send"
                )
            }
        }
        let services: [(name: String, port: (Gateway.Door) -> Int?)] = [
            ("port", { $0.port }), ("feedbackPort", { $0.feedbackPort }),
        ]
        for (name, port) in services {
            var first: [String: Int] = [:]
            var names: [String: Set<String>] = [:]
            for (index, door) in doors.enumerated() {
                guard let number = port(door) else { continue }
                let address = Endpoint.text(door.host, number)
                // If the system chooses the port, each entry without names has a port of its own.
                if door.serverNames.isEmpty, number != 0 || first[address] == nil {
                    if let other = first[address] {
                        throw self.fault(
                            "\(file.listenMember(index, name)): listen[\(other)] has the same address. Tell the entries "
                                + "apart by 'serverNames' in one of them"
                        )
                    }
                    first[address] = index
                }
                for name in door.serverNames where !names[address, default: []].insert(name.lowercased()).inserted {
                    throw self.fault(
                        "\(file.listenMember(index, "serverNames")): another entry has '\(name.printable)'"
                    )
                }
            }
            for (index, door) in doors.enumerated() {
                guard let number = port(door), !door.serverNames.isEmpty else { continue }
                let address = Endpoint.text(door.host, number)
                guard let other = first[address] else {
                    // Many old stacks send no server name.
                    throw self.fault(
                        "\(file.listenMember(index, "serverNames")): \(address) also needs an entry without 'serverNames', "
                            + "for clients that ask for no name"
                    )
                }
                guard doors[other].tlsProfile == door.tlsProfile else {
                    throw self.fault(
                        "\(file.listenMember(index, "legacyTLS")): entries at the same address need the same 'legacyTLS'"
                    )
                }
                guard doors[other].proxies == door.proxies else {
                    throw self.fault(
                        "\(file.listenMember(index, "proxies")): entries at the same address need the same 'proxies' and "
                            + "'proxyRoundTrip'"
                    )
                }
            }
        }
    }

    /// The upstream as the gateway's tables have it.
    static func table(
        _ name: String,
        _ configuration: HTTP2Configuration,
        _ upstream: GatewayFile.Upstream?,
        _ output: (String) -> String
    ) throws -> GatewayTables.Upstream {
        var settings = Array(OptionValue.object(upstream?.values ?? [:]).canonical.utf8)
        for member in ["p8", "cert", "key", "ca", "proxyPasswordFile"] {
            guard let file = upstream?.text(member) else { continue }
            let option = OptionFile("'\(member)'", output(file))
            // A pipe can be read only once, so its content is not known here. Only a change of its name counts as a
            // change.
            if option.isRegular { settings += SHA256.hash(try option.bytes()) }
        }
        return GatewayTables.Upstream(
            name: name,
            key: GatewayUpstream.key(configuration, keyID: upstream?.text("keyId")),
            // Only a hash is kept, because passwords may be among the options.
            settings: SHA256.hash(settings)
        )
    }
}

extension Gateway.Configuration {
    /// Gives the service manager's sockets to the first entry of 'listen', and to the entries that share its address.
    ///
    /// - Throws: ``CommandFailure`` when a client that may be 'anyone' could reach such a socket from another
    ///   machine.
    mutating func pass(binary: PassedSocket?, feedback: PassedSocket?) throws(CommandFailure) {
        let first = self.doors[0]
        for index in self.doors.indices {
            let door = self.doors[index]
            func shares(_ port: Int?, _ firstPort: Int?) -> Bool {
                // If the system chooses the port, each entry without names has a port of its own.
                index == 0 || door.host == first.host && port == firstPort && (port != 0 || !door.serverNames.isEmpty)
            }
            if shares(door.port, first.port) { self.doors[index].passed = binary }
            if shares(door.feedbackPort, first.feedbackPort) { self.doors[index].passedFeedback = feedback }
            guard door.clients.takesAnyone else { continue }
            let sockets = [("binary", self.doors[index].passed), ("feedback", self.doors[index].passedFeedback)]
            for (name, socket) in sockets where socket?.isLocal == false {
                throw .usage(
                    "a client that may be 'anyone' needs a socket '\(name)' that listens on 127.0.0.1, or the world could "
                        + "send"
                )
            }
        }
    }
}

/// The identities and the routes of a configuration, while its clients are read.
struct ClientTable {
    private let upstreams: [GatewayTables.Upstream]
    /// The upstream that each entry of 'listen' names; nil if the entry names none.
    private let listeners: [Int?]
    private(set) var identities: [ClientIdentity] = []
    private(set) var routes: [Route] = []
    /// For each client, the number of its identity at each upstream. The key nil is the client's own upstream.
    private var numbers: [[Int?: Int]] = []

    init(_ upstreams: [GatewayTables.Upstream], _ listeners: [Int?]) {
        self.upstreams = upstreams
        self.listeners = listeners
    }

    /// Whether a client may come through an entry that names no upstream.
    var needsOwn: Bool { self.listeners.contains(nil) }

    /// The first store name that two identities share, or that has more than 255 bytes; nil if all names are good.
    var ambiguous: String? {
        var names: Set<String> = []
        return self.identities.map(\.storeName).first { !names.insert($0).inserted || $0.utf8.count > 255 }
    }

    /// Adds a client, with an identity for each upstream that it may come to.
    ///
    /// - Parameter own: the client's own upstream; nil if each entry of 'listen' names one.
    mutating func add(_ identity: ClientIdentity, _ topics: [String], own: Int?) {
        var numbers: [Int?: Int] = [:]
        if let own { numbers[nil] = self.add(identity, topics, at: own) }
        for case let upstream? in self.listeners where numbers[upstream] == nil {
            guard upstream != own else {
                numbers[upstream] = numbers[nil]
                continue
            }
            var identity = identity
            identity.listenerUpstream = self.upstreams[upstream].name
            numbers[upstream] = self.add(identity, topics, at: upstream)
        }
        self.numbers.append(numbers)
    }

    /// The number of each client's identity behind an entry of 'listen'.
    func identities(through entry: Int) -> [Int] {
        self.numbers.compactMap { $0[self.listeners[entry]] }
    }

    private mutating func add(_ identity: ClientIdentity, _ topics: [String], at upstream: Int) -> Int {
        var identity = identity
        for topic in topics {
            // APNs' answers about a topic with a credential hold for all clients, so all clients share the route.
            let known = self.routes.firstIndex { $0.upstream == upstream && $0.topic.elementsEqual(topic.utf8) }
            if known == nil {
                let key = self.upstreams[upstream].key
                self.routes.append(Route(upstream: upstream, topic: Array(topic.utf8), upstreamKey: key))
            }
            let number = known ?? self.routes.count - 1
            if !identity.routes.contains(number) { identity.routes.append(number) }
        }
        self.identities.append(identity)
        return self.identities.count - 1
    }
}

internal import FerryGateway
internal import FerryPlatform
internal import FerryShards
internal import FerryTerminal

/// The database that several gateways share: `store.postgres` of a configuration.
struct GatewayDatabase: Hashable {
    /// The port of shard 0, unless the configuration names another.
    static let defaultPort = 22_000

    /// A connection string of libpq. It may hold a password.
    var connection: String
    /// The name of this process. Each process at the database needs a name of its own.
    var node: String
    var away: ShardAway
    /// How long rejections are kept.
    var rejections: Duration

    /// - Parameter doors: the entries of 'listen'.
    /// - Returns: nil if the configuration has no `store.postgres`.
    init?(_ file: GatewayFile, _ doors: [Gateway.Door]) throws(CommandFailure) {
        guard let store = file.store, let connection = store.postgres else {
            let given = [
                ("node", file.store?.node != nil), ("away", file.store?.away != nil),
                ("rejections", file.store?.rejections != nil),
            ]
            for (name, isGiven) in given where isGiven {
                throw .usage("'store.\(name)' needs 'store.postgres'")
            }
            return nil
        }
        guard store.path == nil else {
            throw .usage("'store.postgres' and 'store.path' are both given: a gateway has one store")
        }
        guard store.fsync == nil else {
            throw .usage("'store.fsync' is for 'store.path': PostgreSQL answers a commit when it is on its disk")
        }
        let node = store.node ?? ProcessInfo.processInfo.hostName
        // The node is a part of the session's name. PostgreSQL keeps 63 bytes of a session's name, of printable
        // ASCII.
        guard (1...40).contains(node.utf8.count), node.utf8.allSatisfy({ 0x21...0x7e ~= $0 }) else {
            throw .usage("'store.node' has to have 1 to 40 letters, digits and signs of ASCII, without spaces")
        }
        if let index = doors.firstIndex(where: { $0.port == 0 }) {
            throw .usage("'\(file.listenMember(index, "port"))' cannot be 0: each shard has the next port")
        }
        self.connection = connection
        self.node = node
        self.away = store.away ?? .wait
        self.rejections = store.rejections ?? .seconds(30 * 86_400)
    }

    /// Checks the ports of the shards of each entry: they are 65535 at most, are not the entry's feedback port, and
    /// do not overlap those of another entry at the same host.
    ///
    /// - Parameter shards: the number of shards.
    static func checkPorts(_ doors: [Gateway.Door], shards: Int) throws(CommandFailure) {
        for (index, door) in doors.enumerated() {
            let ports = door.port..<(door.port + shards)
            guard ports.upperBound <= 65_536 else {
                throw .usage("'listen': the \(shards) shards from port \(door.port) on need ports beyond 65535")
            }
            if let feedback = door.feedbackPort, ports.contains(feedback) {
                throw .usage("'listen.feedbackPort' \(feedback) is the port of shard \(feedback - door.port)")
            }
            for other in doors[(index + 1)...] where other.host == door.host && other.port != door.port {
                guard abs(other.port - door.port) >= shards else {
                    throw .usage("'listen': ports \(door.port) and \(other.port) are too near for \(shards) shards")
                }
            }
        }
    }
}

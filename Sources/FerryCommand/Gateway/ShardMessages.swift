internal import FerryCore
internal import FerryGateway
internal import FerryShards
internal import FerryTerminal

/// The log messages of a process about its shards.
final class ShardMessages: Sendable {
    private let node: String
    /// The file of the list of rejections, if there is one.
    private let list: String?
    private let write: @Sendable (LogMessage) -> Void
    /// The names of the present configuration.
    private let names: Locked<GatewayMessages.Names>
    /// The messages of each shard's gateway, which has its own numbers for clients. The key nil is for the feedback
    /// service.
    private let gateways = Locked<[Int?: GatewayMessages]>([:])

    init(
        node: String,
        list: String?,
        _ names: GatewayMessages.Names,
        write: @escaping @Sendable (LogMessage) -> Void
    ) {
        self.node = node
        self.list = list
        self.names = Locked(names)
        self.write = write
    }

    /// Takes the names of a configuration, for the gateways that begin later and the feedback service.
    func take(_ names: GatewayMessages.Names) {
        self.names.withLock { $0 = names }
        self.of(nil).take(names)
    }

    /// Takes the names of a shard's gateway.
    func name(_ shard: Int, _ tables: GatewayTables) {
        self.of(shard).take(.init(tables, isLegacy: self.names.withLock { $0.isLegacy }))
    }

    /// The messages of a shard's gateway; those of the feedback service for nil.
    func of(_ shard: Int?) -> GatewayMessages {
        let names = self.names.withLock { $0 }
        return self.gateways.withLock { gateways in
            if let known = gateways[shard] { return known }
            let write = self.write
            let messages = GatewayMessages(names, list: self.list) { message in
                var message = message
                message.members[.shard] = shard.map { .number($0) }
                write(message)
            }
            gateways[shard] = messages
            return messages
        }
    }

    func say(_ event: ShardEvent) {
        switch event {
        case .taken(let shard):
            self.tell(.shardTaken, .notice, "\(self.node) owns shard \(shard), and takes its clients", shard)
        case .fenced(let shard):
            self.alarm(
                .shardFenced,
                "another node owns shard \(shard). This one hands over what it has read, and delivers nothing more of it.",
                shard
            )
        case .handedOver(let shard):
            self.tell(.shardReleased, .notice, "the new owner of shard \(shard) has everything", shard)
        case .released(let shard, true):
            self.tell(.shardReleased, .notice, "shard \(shard) is given up. Another node takes it at once.", shard)
        case .released(let shard, false):
            self.tell(
                .shardReleased,
                .warning,
                "shard \(shard) is left with notifications without an answer. Another node takes it after some seconds.",
                shard
            )
        case .wanted(let shard, let other):
            self.tell(.shardWanted, .notice, "shard \(shard) goes to \(other), as an operator asked", shard)
        case .stopped(let shard):
            self.alarm(
                .shardStopped,
                "shard \(shard) has no right to deliver: PostgreSQL did not answer for 3 s. It accepts no clients.",
                shard
            )
        case .resumed(let shard):
            self.tell(.shardResumed, .notice, "shard \(shard) delivers again, because PostgreSQL answers", shard)
        case .trouble(let shard, let reason):
            let place = shard.map { "shard \($0): " } ?? ""
            self.tell(.shardTrouble, .warning, "\(place)\(reason)", shard, [.reason: .text(reason)])
        case .answered:
            self.tell(.shardTroubleOver, .notice, "PostgreSQL answers again", nil)
        case .refused(let shard, let reason):
            self.alarm(
                .shardRefused,
                "\(self.node) cannot serve shard \(shard), and tries again after a minute. \(reason)",
                shard,
                [.reason: .text(reason)]
            )
        case .namesake(let address):
            self.tell(
                .shardNamesake,
                .warning,
                "another process with the name \(self.node) is connected to PostgreSQL, from \(address): end it, or give this "
                    + "one another 'store.node', because ferry store status and move cannot tell them apart",
                nil,
                [.address: .text(address)]
            )
        case .clock(let seconds):
            self.tell(
                .shardClock,
                .warning,
                "the clock of this machine is \(abs(seconds)) s \(seconds > 0 ? "ahead of" : "behind") PostgreSQL's. From "
                    + "a minute on, what clients send again after a take-over may arrive twice: set the clock by NTP.",
                nil,
                [.seconds: .number(seconds)]
            )
        case .misrouted(let seen, let shards):
            let (numbers, address) = (shards.map(String.init), seen.address)
            self.tell(
                .misrouted,
                .warning,
                "\(seen.client) comes from \(address) to the shards \(numbers.joined(separator: " and ")). What it sends "
                    + "again after an error may arrive twice: let the balancer choose the shard by a hash of the source "
                    + "address. If \(address) is the balancer, let it name its clients by the PROXY protocol.",
                nil,
                [
                    .client: .text(seen.client), .address: .text(address),
                    .shards: .text(numbers.joined(separator: ", ")),
                ]
            )
        case .ownerless(let shard):
            self.alarm(.shardOwnerless, "shard \(shard) has had no open port for 10 s, so its clients wait", shard)
        }
    }

    func sayStop() {
        self.tell(.stopping, .notice, "gives its shards up, as soon as each client pauses, after some 5 s at most", nil)
    }

    private func tell(
        _ event: GatewayLogEvent,
        _ level: LogMessage.Level,
        _ sentence: String,
        _ shard: Int?,
        _ members: LogMessage.Members = [:]
    ) {
        self.write(LogMessage(event, level, sentence, self.members(shard, members)))
    }

    private func alarm(
        _ event: GatewayLogEvent,
        _ sentence: String,
        _ shard: Int?,
        _ members: LogMessage.Members = [:]
    ) {
        self.write(.alarm(event, sentence, self.members(shard, members)))
    }

    private func members(_ shard: Int?, _ members: LogMessage.Members) -> LogMessage.Members {
        var members = members
        members[.shard] = shard.map { LogMessage.Value.number($0) }
        return members
    }
}

internal import FerryBinary
internal import FerryCore
internal import FerryGateway
internal import FerryTerminal

/// Writes the gateway's messages for standard error. They show no device token.
final class GatewayMessages: Sendable {
    /// The topic of an upstream.
    struct Topic: Hashable, Comparable {
        var upstream: Int
        var name: String

        static func < (left: Topic, right: Topic) -> Bool { (left.upstream, left.name) < (right.upstream, right.name) }
    }

    /// The cause of dead letters.
    struct Loss: Hashable, Comparable {
        var client: Int
        var reason: Reason

        static func < (left: Loss, right: Loss) -> Bool {
            (left.client, left.reason.rawValue) < (right.client, right.reason.rawValue)
        }
    }

    /// Notifications that may have arrived.
    private struct Doubt: Hashable {
        var client: Int
        var again: Bool

        var words: String {
            "APNs did not answer, or the connection was lost first. The notification may have arrived. "
                + (self.again
                    ? "It goes out once more, and may arrive twice." : "It does not go out again, and may be missing.")
        }
    }

    /// The names of clients and upstreams, by their numbers. A reload may add names.
    struct Names: Sendable {
        var clients: [String]
        /// The first topic of each client.
        var firstTopics: [Topic]
        var upstreams: [String]
        /// Whether `legacyTLS` is on.
        var isLegacy: Bool
    }

    private let names: Locked<Names>
    var clients: [String] { self.names.withLock { $0.clients } }
    /// The name of a client, or "a client" if its name is not known yet. An event may come a moment before the names,
    /// for a client that an earlier process left or a reload adds.
    func client(_ number: Int) -> String {
        self.names.withLock { $0.clients.indices.contains(number) ? $0.clients[number] : "a client" }
    }
    /// The name of an upstream, or "a new upstream" if its name is not known yet.
    func upstream(_ number: Int) -> String {
        self.names.withLock { $0.upstreams.indices.contains(number) ? $0.upstreams[number] : "a new upstream" }
    }
    var firstTopics: [Topic] { self.names.withLock { $0.firstTopics } }
    var isLegacy: Bool { self.names.withLock { $0.isLegacy } }
    /// The file with each rejection, if there is one.
    let list: String?
    /// Whether the gateway has a store, which keeps each dead letter.
    let isStored: Bool
    /// Whether the store keeps the lines for the list. A store that several gateways share does not.
    private let keepsLines: Bool
    private let write: @Sendable (LogMessage) -> Void
    /// The number of dead letters by their cause.
    let losses = Locked<[Loss: Int]>([:])
    /// The clients that give the length of a payload in characters.
    private let miscounting = Locked<Set<Int>>([])
    /// The clients that sent bytes which are not a notification.
    private let violators = Locked<Set<Int>>([])
    /// The clients with notifications that may have arrived.
    private let doubts = Locked<Set<Doubt>>([])
    /// The topics with an alarm: their notifications wait.
    let alarms = Locked<Set<Topic>>([])
    /// The upstreams with an alarm: they take no notifications.
    let outages = Locked<Set<Int>>([])

    init(
        clients: [String],
        firstTopics: [Topic],
        upstreams: [String],
        list: String?,
        isStored: Bool = false,
        isLegacy: Bool = false,
        write: @escaping @Sendable (LogMessage) -> Void = { MessageWriter.shared.write($0) }
    ) {
        self.names = Locked(
            Names(clients: clients, firstTopics: firstTopics, upstreams: upstreams, isLegacy: isLegacy)
        )
        self.list = list
        self.isStored = isStored
        self.keepsLines = isStored
        self.write = write
    }

    /// The messages of a gateway whose store is shared.
    init(_ names: Names, list: String?, write: @escaping @Sendable (LogMessage) -> Void) {
        self.names = Locked(names)
        self.list = list
        self.isStored = true
        self.keepsLines = false
        self.write = write
    }

    /// Takes the names after a reload. Each keeps its number.
    func take(_ names: Names) { self.names.withLock { $0 = names } }

    func say(_ event: GatewayEvent, _ counts: FateCounts) {
        switch event {
        case .alarm(let upstream, let name, let reason):
            let topic = Topic(upstream: upstream, name: name)
            self.alarms.withLock { _ = $0.insert(topic) }
            var members = self.members(topic)
            members[.reason] = reason.map { LogMessage.Value.text(ReasonWords.name($0)) }
            members[.waiting] = .number(counts.unanswered)
            self.alarm(
                .topicAlarm,
                "\(ReasonWords.shut(name, at: self.upstream(upstream), for: reason)) Notifications wait "
                    + "(\(counts.unanswered) have no answer), and one a second tries.\(self.closing(topic))",
                members
            )
        case .allClear(let upstream, let name):
            let topic = Topic(upstream: upstream, name: name)
            self.alarms.withLock { _ = $0.remove(topic) }
            self.tell(
                .topicAlarmOver,
                .notice,
                "the alarm for \(name) at \(self.upstream(upstream)) is over",
                self.members(topic)
            )
        case .outage(let upstream, let reason):
            self.outages.withLock { _ = $0.insert(upstream) }
            self.alarm(
                .upstreamAlarm,
                "\(self.upstream(upstream)) answers everything with \(ReasonWords.name(reason)). Notifications go out "
                    + "again until it takes them (\(counts.unanswered) have no answer).",
                [
                    .upstream: .text(self.upstream(upstream)), .reason: .text(ReasonWords.name(reason)),
                    .waiting: .number(counts.unanswered),
                ]
            )
        case .outageOver(let upstream):
            self.outages.withLock { _ = $0.remove(upstream) }
            self.tell(
                .upstreamAlarmOver,
                .notice,
                "the alarm for \(self.upstream(upstream)) is over",
                [.upstream: .text(self.upstream(upstream))]
            )
        case .deadLetter(let refusal):
            // A million dead letters would be a million lines. So only the first of each cause is named, with a sum at
            // the end.
            let loss = Loss(client: refusal.identity, reason: refusal.reason)
            let isFirst = self.losses.withLock { losses in
                losses[loss, default: 0] += 1
                return losses[loss] == 1
            }
            guard isFirst else { return }
            // A store keeps the notification as a letter, if it takes the letter before the end.
            let end = self.isStored ? "given up" : "lost"
            self.tell(
                .lost,
                .warning,
                "a notification of \(self.client(refusal.identity)) is \(end): \(ReasonWords.sentence(refusal.reason))",
                [.client: .text(self.client(refusal.identity)), .reason: .text(ReasonWords.name(refusal.reason))]
            )
        case .uncertain(let item, let again):
            let doubt = Doubt(client: item.identity, again: again)
            guard self.doubts.withLock({ $0.insert(doubt).inserted }) else { return }
            self.tell(
                .uncertain,
                .warning,
                "a notification of \(self.client(item.identity)) is uncertain: \(doubt.words)",
                [.client: .text(self.client(item.identity)), .topic: .text(item.topic), .again: .flag(again)]
            )
        case .storeTrouble(let reason):
            self.alarm(
                .storeAlarm,
                "\(reason) Notifications wait, and no new client is taken.",
                [.reason: .text(reason)]
            )
        case .storeAllClear:
            self.tell(.storeAlarmOver, .notice, "the alarm for the store is over")
        case .storeTaken:
            self.alarm(
                .storeTaken,
                "another gateway has taken the store. This one delivers nothing more: stop it."
            )
        case .handingOver:
            self.alarm(
                .storeTaken,
                "another gateway has taken the store. This one hands over what it has read, and delivers nothing more."
            )
        case .listTrouble(let reason):
            let place = self.keepsLines ? "the store" : "memory"
            self.alarm(
                .listAlarm,
                "The list of rejections\(self.list.map { " \($0)" } ?? "") cannot be written: \(reason). Its lines "
                    + "wait in \(place) (\(counts.unwritten) so far).",
                self.listMembers([.reason: .text(reason), .unwritten: .number(counts.unwritten)])
            )
        case .listAllClear:
            self.tell(
                .listAlarmOver,
                .notice,
                "the alarm for the list of rejections is over",
                self.listMembers([:])
            )
        case .listFull(let limit):
            self.alarm(
                .listFull,
                "\(limit) lines wait for the list of rejections. The oldest are lost.",
                self.listMembers([.limit: .number(limit)])
            )
        case .violation(let identity, let violation):
            // A payload length in characters also causes a violation, and the message about the length has named the
            // client.
            guard !self.miscounting.withLock({ $0.contains(identity) }),
                self.violators.withLock({ $0.insert(identity).inserted })
            else { break }
            let words = Self.words(violation)
            self.tell(
                .badFrame,
                .warning,
                "\(self.client(identity)) sent what is no notification: \(words). Its connection ended, as "
                    + "with Apple's gateway. It is not named again.",
                [.client: .text(self.client(identity)), .reason: .text(words)]
            )
        case .stranger(let address, let reason):
            let advice = self.advice(reason)
            self.tell(
                .refusedClient,
                .warning,
                "\(address) was refused: \(advice)",
                [.address: .text(address), .reason: .text(advice)]
            )
        case .check(let address, .doctor):
            self.tell(
                .doctor,
                .info,
                "\(address) is ferry doctor, which tries this gateway. It is not named again for an hour.",
                [.address: .text(address)]
            )
        case .check(let address, .connection):
            self.tell(
                .emptyConnection,
                .info,
                "\(address) connected and ended without a byte, as monitors and load balancers do. Its further checks are "
                    + "not named.",
                [.address: .text(address)]
            )
        case .refused(let refusal):
            guard refusal.reason == .payloadLengthInCharacters else { break }
            guard self.miscounting.withLock({ $0.insert(refusal.identity).inserted }) else { break }
            self.tell(
                .lengthInCharacters,
                .warning,
                "\(self.client(refusal.identity)) gives the length of a payload in characters, and not in bytes. A "
                    + "payload with letters beyond ASCII is refused, and its connection ends: count the bytes of its UTF-8.",
                [.client: .text(self.client(refusal.identity))]
            )
        case .gone, .expired:
            break
        }
    }

    func tell(
        _ event: GatewayLogEvent,
        _ level: LogMessage.Level,
        _ sentence: String,
        _ members: LogMessage.Members = [:]
    ) {
        self.write(LogMessage(event, level, sentence, members))
    }

    private func alarm(
        _ event: GatewayLogEvent,
        _ sentence: String,
        _ members: LogMessage.Members = [:]
    ) {
        self.write(.alarm(event, sentence, members))
    }

    private func members(_ topic: Topic) -> LogMessage.Members {
        [.upstream: .text(self.upstream(topic.upstream)), .topic: .text(topic.name)]
    }

    /// The members, and the file of the list if there is one.
    func listMembers(
        _ members: LogMessage.Members
    ) -> LogMessage.Members {
        var members = members
        members[.file] = self.list.map { LogMessage.Value.text($0) }
        return members
    }
}

extension GatewayMessages.Names {
    init(_ tables: GatewayTables, isLegacy: Bool) {
        self.init(
            clients: tables.identities.map(\.label),
            firstTopics: tables.identities.compactMap { identity in
                identity.routes.first.map { tables.routes[$0] }.map {
                    GatewayMessages.Topic(upstream: $0.upstream, name: String(decoding: $0.topic, as: UTF8.self))
                }
            },
            upstreams: tables.upstreams.map(\.name),
            isLegacy: isLegacy
        )
    }
}

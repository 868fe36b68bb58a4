internal import FerryBinary
internal import FerryCore
internal import FerryGateway
internal import FerryTerminal

/// The messages of the gateway for people, on standard error. They show no device token.
final class GatewayMessages: Sendable {
    /// The topic of an upstream.
    struct Topic: Hashable, Comparable {
        var upstream: Int
        var name: String

        static func < (left: Topic, right: Topic) -> Bool { (left.upstream, left.name) < (right.upstream, right.name) }
    }

    private struct Loss: Hashable, Comparable {
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

    private let clients: [String]
    /// The first topic of each client.
    private let firstTopics: [Topic]
    private let upstreams: [String]
    /// The file with each rejection, if there is one.
    private let list: String?
    /// Whether a store keeps the lines that the list does not have.
    private let isStored: Bool
    /// Whether `legacyTLS` is on.
    private let isLegacy: Bool
    /// Receives messages for people.
    private let write: @Sendable (String) -> Void
    /// The number of dead letters of each cause.
    private let losses = Locked<[Loss: Int]>([:])
    /// The clients whose lengths count characters.
    private let miscounting = Locked<Set<Int>>([])
    /// The clients that sent bytes which are not a notification.
    private let violators = Locked<Set<Int>>([])
    /// The clients with notifications that may have arrived.
    private let doubts = Locked<Set<Doubt>>([])
    /// The topics whose notifications wait.
    private let alarms = Locked<Set<Topic>>([])
    /// The upstreams that have an outage.
    private let outages = Locked<Set<Int>>([])

    init(
        clients: [String],
        firstTopics: [Topic],
        upstreams: [String],
        list: String?,
        isStored: Bool = false,
        isLegacy: Bool = false,
        write: @escaping @Sendable (String) -> Void = { MessageWriter.shared.write($0) }
    ) {
        self.clients = clients
        self.firstTopics = firstTopics
        self.upstreams = upstreams
        self.list = list
        self.isStored = isStored
        self.isLegacy = isLegacy
        self.write = write
    }

    func say(_ event: GatewayEvent, _ counts: FateCounts) {
        switch event {
        case .alarm(let upstream, let name, let reason):
            let topic = Topic(upstream: upstream, name: name)
            self.alarms.withLock { _ = $0.insert(topic) }
            self.write(
                "ferry: alarm: \(self.cause(upstream, name, reason)) Notifications wait (\(counts.unanswered) have no answer), "
                    + "and one a second tries.\(self.closing(topic))"
            )
        case .allClear(let upstream, let name):
            self.alarms.withLock { _ = $0.remove(Topic(upstream: upstream, name: name)) }
            self.write("ferry: the alarm for \(name) at \(self.upstreams[upstream]) is over")
        case .outage(let upstream, let reason):
            self.outages.withLock { _ = $0.insert(upstream) }
            self.write(
                "ferry: alarm: \(self.upstreams[upstream]) answers everything with \(Self.name(reason)). Notifications go out "
                    + "again until it takes them (\(counts.unanswered) have no answer)."
            )
        case .outageOver(let upstream):
            self.outages.withLock { _ = $0.remove(upstream) }
            self.write("ferry: the alarm for \(self.upstreams[upstream]) is over")
        case .deadLetter(let refusal):
            // A million dead letters would be a million lines. So only the first of each cause is named, with a sum at
            // the end.
            let loss = Loss(client: refusal.identity, reason: refusal.reason)
            let isFirst = self.losses.withLock { losses in
                losses[loss, default: 0] += 1
                return losses[loss] == 1
            }
            guard isFirst else { return }
            self.write(
                "ferry: a notification of \(self.clients[refusal.identity]) is lost: \(self.words(refusal.reason))"
            )
        case .uncertain(let item, let again):
            let doubt = Doubt(client: item.identity, again: again)
            guard self.doubts.withLock({ $0.insert(doubt).inserted }) else { return }
            self.write("ferry: a notification of \(self.clients[item.identity]) is uncertain: \(doubt.words)")
        case .storeTrouble(let reason):
            self.write("ferry: alarm: \(reason) Notifications wait, and no new client is taken.")
        case .storeAllClear:
            self.write("ferry: the alarm for the store is over")
        case .storeTaken:
            self.write("ferry: alarm: another gateway has taken the store. This one delivers nothing more: stop it.")
        case .listTrouble(let reason):
            let place = self.isStored ? "the store" : "memory"
            self.write(
                "ferry: alarm: The list of rejections\(self.list.map { " \($0)" } ?? "") cannot be written: \(reason). Its lines "
                    + "wait in \(place) (\(counts.unwritten) so far)."
            )
        case .listAllClear:
            self.write("ferry: the alarm for the list of rejections is over")
        case .listFull(let limit):
            self.write("ferry: alarm: \(limit) lines wait for the list of rejections. The oldest are lost.")
        case .violation(let identity, let violation):
            // A payload whose length counts characters also causes this, and that message has named it already.
            guard !self.miscounting.withLock({ $0.contains(identity) }),
                self.violators.withLock({ $0.insert(identity).inserted })
            else { break }
            self.write(
                "ferry: \(self.clients[identity]) sent what is no notification: \(Self.words(violation)). Its connection ended, as "
                    + "with Apple's gateway. It is not named again."
            )
        case .stranger(let address, let reason):
            self.write("ferry: \(address) was refused: \(self.advice(reason))")
        case .check(let address, .doctor):
            self.write(
                "ferry: \(address) is ferry doctor, which tries this gateway. It is not named again for an hour."
            )
        case .check(let address, .connection):
            self.write(
                "ferry: \(address) connected and ended without a byte, as monitors and load balancers do. Its further checks are "
                    + "not named."
            )
        case .refused(let refusal):
            guard refusal.reason == .payloadLengthInCharacters else { break }
            guard self.miscounting.withLock({ $0.insert(refusal.identity).inserted }) else { break }
            self.write(
                "ferry: \(self.clients[refusal.identity]) gives the length of a payload in characters, and not in bytes. A "
                    + "payload with letters beyond ASCII is refused, and its connection ends: count the bytes of its UTF-8."
            )
        case .gone, .expired:
            break
        }
    }

    /// The library's sentence with advice for a gateway, which serves TLS 1.2 at most, with RSA or ECDHE.
    private func advice(_ reason: String) -> String {
        guard self.isLegacy else { return reason.replacing("the legacy profile", with: "'legacyTLS' in 'listen'") }
        let words = [
            (
                "allow one that the peer speaks, or with TLS 1.0 and 1.1 use the legacy profile",
                "it must allow TLS 1.2, 1.1 or 1.0: 'legacyTLS' is on already"
            ),
            (
                "the peer must allow a usual one of TLS 1.2, or this side must use the legacy profile",
                "the peer must allow one with RSA or ECDHE: 'legacyTLS' is on already"
            ),
            (", or this side must use the legacy profile", ""),
            (", or the legacy profile", ""),
        ]
        return words.reduce(reason) { $0.replacing($1.0, with: $1.1) }
    }

    private static func words(_ violation: NotificationViolation) -> String {
        switch violation {
        case .unknownCommand(let command):
            "a frame that begins with \(command) in place of a command (0, 1 or 2). Either a length in the frame before it "
                + "is wrong, or the client speaks another protocol"
        case .frameTooLong(let length): "a frame of \(length) bytes, too long for one notification"
        }
    }

    func sayStart(_ counts: FateCounts) {
        guard counts.recovered > 0 else { return }
        self.write("ferry: \(counts.recovered) without an answer from before go out again")
    }

    /// Reports that the end has begun, and what it waits for.
    ///
    /// - Parameter limit: how long the end may take.
    func sayStop(_ counts: FateCounts, within limit: Duration) {
        let waiting = counts.unanswered > 0 ? "; \(counts.unanswered) wait for an answer of APNs" : ""
        let alarms =
            self.outages.withLock { $0.sorted() }.map { self.upstreams[$0] }
            + self.alarms.withLock { $0.sorted() }.map { "\($0.name) at \(self.upstreams[$0.upstream])" }
        let alarm = alarms.isEmpty ? "" : "; the alarm for \(alarms.joined(separator: ", ")) goes on"
        self.write(
            "ferry: stops in \(limit.components.seconds) s at most, as soon as each client pauses and nothing waits"
                + "\(waiting)\(alarm)"
        )
    }

    /// - Parameter kept: the number of unanswered notifications in the store.
    func sayEnd(_ counts: FateCounts, kept: Int) {
        if self.isStored, counts.unwritten > 0 {
            self.write(
                "ferry: \(counts.unwritten) lines of the list of rejections wait in the store for the next start"
            )
        }
        if counts.unlisted > 0 { self.write("ferry: \(counts.unlisted) lines of the list of rejections are lost") }
        if kept > 0 { self.write("ferry: \(kept) wait in the store for the next start") }
        for (loss, count) in self.losses.withLock({ $0.sorted { $0.key < $1.key } }) {
            let place = self.list.map { ", each in \($0)" } ?? ""
            self.write("ferry: \(count) of \(self.clients[loss.client]) lost\(place): \(self.words(loss.reason))")
        }
        let store = counts.recovered > 0 ? "; \(counts.recovered) from the store" : ""
        let expired = counts.expired > 0 ? ", \(counts.expired) expired" : ""
        let unknown =
            (counts.unknown > 0 ? ", \(counts.unknown) without an answer, which may have arrived" : "")
            + (counts.copies > 0 ? ", \(counts.copies) sent once more, which may have arrived twice" : "")
        self.write(
            "ferry: read \(counts.read), of which \(counts.swallowed) were copies\(store); \(counts.accepted) accepted, "
                + "\(counts.refused + counts.refusedHere + counts.knownBad) rejected, \(counts.gone) gone"
                + "\(expired)\(unknown); \(counts.told) error responses"
        )
    }

    /// Names the clients that get no new connection while their notifications for this topic wait.
    private func closing(_ topic: Topic) -> String {
        let closed = zip(self.clients, self.firstTopics).filter { $0.1 == topic }.map(\.0)
        guard !closed.isEmpty else { return "" }
        return " New connections of \(closed.listed) are closed while \(closed.count == 1 ? "its" : "their") own wait."
    }

    private func cause(_ upstream: Int, _ topic: String, _ reason: Reason?) -> String {
        guard let reason else {
            return "\(self.upstreams[upstream]) cannot be used with its credentials, so \(topic) is not delivered."
        }
        guard reason != .badDeviceToken else {
            return
                "\(self.upstreams[upstream]) has refused many device tokens for \(topic) and accepted none: production and "
                + "development may be mixed up."
        }
        return "\(self.upstreams[upstream]) refuses \(topic): \(self.words(reason))"
    }

    /// The reason as a word. APNs chooses it, so it is cut, and its control characters are escaped.
    private static func name(_ reason: Reason) -> String { String(reason.rawValue.beginning(utf8: 100)).printable }

    private func words(_ reason: Reason) -> String {
        reason == .unknown
            ? "there was no answer." : "\(Self.name(reason)). \(reason.explanation ?? "")"
    }
}

internal import FerryCore
internal import FerryGateway
internal import Synchronization

/// What the gateway tells a person, on standard error. Shows no device token.
final class GatewayMessages: Sendable {
    private struct Loss: Hashable {
        var client: Int
        var reason: Reason
    }

    private let clients: [String]
    private let upstreams: [String]
    /// The file with each rejection, if there is one.
    private let list: String?
    /// The number of dead letters of each cause.
    private let losses = Mutex<[Loss: Int]>([:])

    init(clients: [String], upstreams: [String], list: String?) {
        self.clients = clients
        self.upstreams = upstreams
        self.list = list
    }

    func say(_ event: GatewayEvent) {
        switch event {
        case .alarm(let upstream, let topic, let reason):
            Console.error(
                "ferry: alarm: \(self.cause(upstream, topic, reason)) Notifications wait, and one a second tries."
            )
        case .allClear(let upstream, let topic):
            Console.error("ferry: the alarm for \(topic) at \(self.upstreams[upstream]) is over")
        case .deadLetter(let refusal):
            // A million of them would be a million lines: the first of each cause, and the numbers at the end.
            let loss = Loss(client: refusal.identity, reason: refusal.reason)
            let isFirst = self.losses.withLock { losses in
                losses[loss, default: 0] += 1
                return losses[loss] == 1
            }
            guard isFirst else { return }
            Console.error(
                "ferry: a notification of \(self.clients[refusal.identity]) is lost: \(self.words(refusal.reason))"
            )
        case .storeTrouble(let reason):
            Console.error("ferry: alarm: \(reason) Notifications wait, and no new client is taken.")
        case .storeAllClear:
            Console.error("ferry: the alarm for the store is over")
        case .storeTaken:
            Console.error("ferry: alarm: another gateway has taken the store. This one delivers nothing more: stop it.")
        case .stranger(let address, let reason):
            Console.error("ferry: \(address) was refused: \(reason)")
        case .refused, .gone:
            break
        }
    }

    func sayStart(_ counts: GatewayCounts) {
        guard counts.recovered > 0 else { return }
        Console.error("ferry: \(counts.recovered) without an answer from before go out again")
    }

    /// - Parameter kept: the notifications that the store has without an answer.
    func sayEnd(_ counts: GatewayCounts, kept: Int) {
        if kept > 0 { Console.error("ferry: \(kept) wait in the store for the next start") }
        for (loss, count) in self.losses.withLock({ $0 }) {
            let place = self.list.map { ", each in \($0)" } ?? ""
            Console.error("ferry: \(count) of \(self.clients[loss.client]) lost: \(self.words(loss.reason))\(place)")
        }
        let store = counts.recovered > 0 ? "; \(counts.recovered) from the store" : ""
        Console.error(
            "ferry: read \(counts.read), of which \(counts.swallowed) were copies\(store); \(counts.accepted) accepted, "
                + "\(counts.refused + counts.refusedHere + counts.knownBad) rejected, \(counts.gone) gone; "
                + "\(counts.told) error responses"
        )
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

    private func words(_ reason: Reason) -> String {
        reason == .unknown
            ? "there was no answer." : "\(reason.rawValue). \(reason.explanation ?? "")"
    }
}

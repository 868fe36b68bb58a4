internal import FerryGateway

/// The sentence about a reload that was taken.
enum ReloadWords {
    static func sentence(_ change: GatewayChange, ended: Int, _ left: [ReloadAnswer.Left]) -> String {
        var parts = [
            self.part("client", change.clients), self.part("upstream", change.upstreams),
            self.part("listener", change.listeners),
        ].compactMap(\.self)
        if ended > 0 { parts.append("\(ended) connection\(ended == 1 ? " ends" : "s end")") }
        for client in left {
            let count = client.notifications
            parts.append(
                "\(count) notification\(count == 1 ? "" : "s") that \(client.client) left \(count == 1 ? "is" : "are") "
                    + "still delivered"
            )
        }
        return parts.isEmpty
            ? "The configuration was read again. It names the same clients and upstreams."
            : "The configuration was read again: \(parts.joined(separator: "; "))."
    }

    private static func part(_ noun: String, _ names: GatewayChange.Names) -> String? {
        let parts = [("new", names.added), ("removed", names.removed), ("changed", names.changed)]
            .filter { !$0.1.isEmpty }
            .map { "\($0.0): \($0.1.joined(separator: ", "))" }
        return parts.isEmpty ? nil : "\(noun)s \(parts.joined(separator: ", "))"
    }
}

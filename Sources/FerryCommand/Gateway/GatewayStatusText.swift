internal import FerryAdmin
internal import FerryGateway
internal import FerryPlatform
internal import FerryTerminal

/// The status of a gateway as lines for a terminal.
struct GatewayStatusText {
    /// The clients that are shown. The busiest come first.
    private static let clientLimit = 8

    private let status: GatewayStatus

    init(_ status: GatewayStatus) { self.status = status }

    /// One screen.
    var screen: String {
        let status = self.status
        var lines = [self.word, status.condition.sentence]
        for trouble in status.troubles.dropFirst().prefix(3) { lines.append(trouble.sentence) }
        lines += [
            "",
            "read \(FigureText.rate(status.rate.read))/s, accepted \(FigureText.rate(status.rate.accepted))/s, "
                + "without an answer \(status.unanswered), the oldest \(FigureText.time(status.oldestAge))",
            "in all: read \(status.counts.read), accepted \(status.counts.accepted), rejected \(status.counts.refused), "
                + "gone \(status.counts.gone), dead letters \(status.counts.deadLetters)",
            "",
            self.upstreams.description,
            "",
            self.clients.description,
        ]
        let hidden = status.clients.count - Self.clientLimit
        if hidden > 0 { lines.append("and \(hidden) more") }
        if let alarm = status.alarms.last {
            lines += ["", "last alarm, \(FigureText.time(Double(status.now - alarm.at))) ago: \(alarm.sentence)"]
        }
        return lines.joined(separator: "\n")
    }

    private var word: String {
        let age = FigureText.time(Double(self.status.now - self.status.startedAt))
        return "ferry gateway \(self.status.ferry), since \(age): \(self.status.condition.level.word)"
    }

    private var upstreams: TextTable {
        var table = TextTable(
            rows: [["upstream", "state", "connections", "under way", "median", "99 %"]],
            alignment: [.left, .left, .right, .right, .right, .right]
        )
        for upstream in self.status.upstreams {
            table.rows.append([
                upstream.name, upstream.state.rawValue, "\(upstream.connections)", "\(upstream.requests)",
                FigureText.time(upstream.p50), FigureText.time(upstream.p99),
            ])
        }
        return table
    }

    private var clients: TextTable {
        var table = TextTable(
            rows: [["client", "heard", "read", "accepted", "rejected", "waiting"]],
            alignment: [.left, .left, .right, .right, .right, .right]
        )
        let busiest = self.status.clients.sorted { $1.counts.read < $0.counts.read }
        for client in busiest.prefix(Self.clientLimit) {
            let heard = client.heardAt.map { "\(FigureText.time(Double(self.status.now - $0))) ago" } ?? "never"
            table.rows.append([
                client.name, heard, "\(client.counts.read)", "\(client.counts.accepted)", "\(client.counts.refused)",
                "\(client.counts.unanswered)",
            ])
        }
        return table
    }
}

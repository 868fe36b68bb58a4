internal import FerryAdmin
internal import FerryGateway
internal import FerryTerminal

/// The status of a gateway as lines for a terminal.
extension GatewayStatus: ShownStatus {
    /// The largest number of clients that are shown: those that sent the most notifications.
    private static let shownClients = 8

    static var server: AdministeredServer { .gateway }

    var lines: [String] {
        let (counts, hidden) = (self.counts, self.clients.count - Self.shownClients)
        var lines = [
            "read \(FigureText.rate(self.rate.read))/s, accepted \(FigureText.rate(self.rate.accepted))/s, "
                + "without an answer \(self.unanswered), the oldest \(StatusWords.duration(self.oldestAge))",
            "in all: read \(counts.read), accepted \(counts.accepted), rejected \(counts.refused), "
                + "gone \(counts.gone), dead letters \(counts.deadLetters)",
            "",
        ]
        if let shards { lines += [Self.table(shards).description, ""] }
        lines += [
            self.upstreamTable.description,
            "",
            self.clientTable.description,
        ]
        if hidden > 0 { lines.append("and \(hidden) more") }
        return lines
    }

    private static func table(_ shards: [Shard]) -> TextTable {
        var table = TextTable(
            rows: [["shard", "owner", "term", "connections", "waiting", "under way", "right left"]],
            alignment: [.right, .left, .left, .right, .right, .right, .right]
        )
        func number(_ count: Int?) -> String { count.map { "\($0)" } ?? "–" }
        for shard in shards {
            table.rows.append([
                "\(shard.shard)", shard.owner ?? "–", String(shard.term.prefix(8)), number(shard.connections),
                number(shard.waiting), number(shard.inFlight), StatusWords.duration(shard.rightSeconds),
            ])
        }
        return table
    }

    private var upstreamTable: TextTable {
        var table = TextTable(
            rows: [["upstream", "state", "connections", "under way", "median", "99 %"]],
            alignment: [.left, .left, .right, .right, .right, .right]
        )
        for upstream in self.upstreams {
            table.rows.append([
                upstream.name, upstream.state.rawValue, "\(upstream.connections)", "\(upstream.requests)",
                StatusWords.duration(upstream.p50), StatusWords.duration(upstream.p99),
            ])
        }
        return table
    }

    private var clientTable: TextTable {
        var table = TextTable(
            rows: [["client", "heard", "read", "accepted", "rejected", "waiting"]],
            alignment: [.left, .left, .right, .right, .right, .right]
        )
        let busiest = self.clients.sorted { $1.counts.read < $0.counts.read }
        for client in busiest.prefix(Self.shownClients) {
            let heard = StatusWords.ago(client.heardAt, now: self.now)
            table.rows.append([
                client.name, heard, "\(client.counts.read)", "\(client.counts.accepted)", "\(client.counts.refused)",
                "\(client.counts.unanswered)",
            ])
        }
        return table
    }
}

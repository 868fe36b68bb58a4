internal import FerryAdmin

/// The page of a gateway for people.
enum GatewayPage {
    /// The largest number of clients that are shown: the first clients of the configuration. A page of ten thousand
    /// rows would take megabytes for each slow reader.
    static let clientLimit = 200

    private typealias Piece = PagePiece

    static func answer(_ status: GatewayStatus) -> AdminAnswer {
        PageFrame.answer(
            "Ferry gateway",
            status,
            [
                Self.cards(status),
                Piece.picture(status.history, of: "Notifications", ("read", "accepted", "rejected")),
                Self.shards(status),
                Self.upstreams(status),
                Self.clients(status),
                Piece.counts("Answers by reason", "reason", "refusals", status.refusals),
            ]
        )
    }

    private static func cards(_ status: GatewayStatus) -> String {
        let counts = status.counts
        return Piece.cards([
            .rate("read a second", "rate.read", status.rate.read),
            .rate("accepted a second", "rate.accepted", status.rate.accepted),
            .number("without an answer", "unanswered", status.unanswered),
            .time("the oldest of them", "oldestAge", status.oldestAge),
            .number("read", "counts.read", counts.read),
            .number("accepted", "counts.accepted", counts.accepted),
            .number("rejected", "counts.refused", counts.refused),
            .number("devices gone", "counts.gone", counts.gone),
            .number("copies swallowed", "counts.swallowed", counts.swallowed),
            .number("dead letters", "counts.deadLetters", counts.deadLetters),
        ])
    }

    private static func shards(_ status: GatewayStatus) -> String {
        guard let shards = status.shards else { return "" }
        let rows = shards.enumerated().map { index, shard in
            let path = "shards.\(index)"
            return Piece.head("\(shard.shard)")
                + Piece.cell("\(path).owner|s", shard.owner ?? "–")
                + Piece.cell("\(path).term|s", shard.term)
                + Piece.number("\(path).connections", shard.connections)
                + Piece.number("\(path).waiting", shard.waiting)
                + Piece.number("\(path).inFlight", shard.inFlight)
                + Piece.time("\(path).rightSeconds", shard.rightSeconds)
        }
        return Piece.table(
            "Shards",
            [
                ("shard", false), ("owner", false), ("term", false), ("connections", true), ("waiting", true),
                ("under way", true), ("right left", true),
            ],
            rows
        )
    }

    private static func upstreams(_ status: GatewayStatus) -> String {
        let rows = status.upstreams.enumerated().map { index, upstream in
            let path = "upstreams.\(index)"
            return Piece.head(upstream.name)
                + Piece.cell("\(path).address|s", upstream.address)
                + Piece.cell("\(path).state|s", upstream.state.rawValue)
                + Piece.number("\(path).connections", upstream.connections)
                + Piece.number("\(path).requests", upstream.requests)
                + Piece.number("\(path).accepted", upstream.accepted)
                + Piece.number("\(path).refused", upstream.refused)
                + Piece.time("\(path).p50", upstream.p50)
                + Piece.time("\(path).p99", upstream.p99)
                + Piece.number("\(path).held", upstream.held)
                + Piece.wideCell("\(path).lastError.sentence|s", upstream.lastError?.sentence ?? "–")
        }
        return Piece.table(
            "Upstreams",
            [
                ("name", false), ("address", false), ("state", false), ("connections", true), ("under way", true),
                ("accepted", true), ("refused", true), ("median", true), ("99 of 100", true), ("held", true),
                ("last error", false),
            ],
            rows
        )
    }

    private static func clients(_ status: GatewayStatus) -> String {
        let rows = status.clients.prefix(Self.clientLimit).enumerated().map { index, client in
            let path = "clients.\(index)"
            return Piece.head(client.name)
                + Piece.cell("\(path).upstream|s", client.upstream)
                + Piece.number("\(path).connections", client.connections)
                + Piece.ago("\(path).heardAt", client.heardAt, now: status.now)
                + Piece.number("\(path).counts.read", client.counts.read)
                + Piece.number("\(path).counts.accepted", client.counts.accepted)
                + Piece.number("\(path).counts.refused", client.counts.refused)
                + Piece.number("\(path).counts.told", client.counts.told)
                + Piece.number("\(path).feedbackRows", client.feedbackRows)
                + Piece.cell("\(path).told|s", client.told)
        }
        let hidden = status.clients.count - rows.count
        return Piece.table(
            "Clients",
            [
                ("name", false), ("upstream", false), ("connections", true), ("heard", false), ("read", true),
                ("accepted", true), ("rejected", true), ("told", true), ("feedback", true), ("what it is told", false),
            ],
            rows,
            note: hidden > 0 ? "\(FigureText.number(hidden)) more stand in /status." : nil
        )
    }
}

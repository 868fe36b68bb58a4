internal import FerryAdmin

/// The page of a receiver for people.
enum AppStorePage {
    private typealias Piece = PagePiece

    static func answer(_ status: AppStoreStatus) -> AdminAnswer {
        PageFrame.answer(
            "Ferry App Store receiver",
            status,
            [
                Self.cards(status),
                Piece.picture(status.history, of: "Posts", ("received", "answered 200", "refused or postponed")),
                Self.destinations(status),
                Piece.counts("Refused posts", "cause", "refusals", status.refusals),
                Piece.counts("Answers", "status", "answers", status.answers),
            ]
        )
    }

    private static func cards(_ status: AppStoreStatus) -> String {
        Piece.cards([
            .rate("posts a second", "rate.read", status.rate.read),
            .number("posts", "posts.posts", status.posts.posts),
            .number("verified", "posts.verified", status.posts.verified),
            .number("taken", "posts.taken", status.posts.taken),
            .number("copies", "posts.copies", status.posts.copies),
            .number("postponed", "posts.postponed", status.posts.postponed),
            .number("refused", "posts.refused", status.posts.refused),
            .number("deliveries that wait", "waiting", status.waiting),
            .time("the oldest of them", "oldestAge", status.oldestAge),
            .number("in the store", "kept", status.kept),
        ])
    }

    private static func destinations(_ status: AppStoreStatus) -> String {
        guard !status.destinations.isEmpty else { return "" }
        let rows = status.destinations.enumerated().map { index, destination in
            let path = "destinations.\(index)"
            return Piece.head(destination.name)
                + Piece.cell("\(path).state|s", destination.state.rawValue)
                + Piece.number("\(path).waiting", destination.waiting)
                + Piece.number("\(path).underWay", destination.underWay)
                + Piece.number("\(path).delivered", destination.delivered)
                + Piece.number("\(path).failed", destination.failed)
                + Piece.number("\(path).setAside", destination.setAside)
                + Piece.time("\(path).p50", destination.p50)
                + Piece.time("\(path).p99", destination.p99)
                + Piece.wideCell("\(path).lastFailure.sentence|s", destination.lastFailure?.sentence ?? "–")
        }
        return Piece.table(
            "Destinations",
            [
                ("URL", false), ("state", false), ("wait", true), ("under way", true), ("delivered", true),
                ("failed", true), ("set aside", true), ("median", true), ("99 of 100", true), ("last failure", false),
            ],
            rows
        )
    }
}

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
            ("posts a second", "rate.read|r", HTML.rate(status.rate.read)),
            ("posts", "posts.posts|n", HTML.number(status.posts.posts)),
            ("verified", "posts.verified|n", HTML.number(status.posts.verified)),
            ("taken", "posts.taken|n", HTML.number(status.posts.taken)),
            ("copies", "posts.copies|n", HTML.number(status.posts.copies)),
            ("postponed", "posts.postponed|n", HTML.number(status.posts.postponed)),
            ("refused", "posts.refused|n", HTML.number(status.posts.refused)),
            ("deliveries that wait", "waiting|n", HTML.number(status.waiting)),
            ("the oldest of them", "oldestAge|t", HTML.time(status.oldestAge)),
            ("in the store", "kept|n", HTML.number(status.kept)),
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

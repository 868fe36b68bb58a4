internal import FerryAdmin
internal import FerryAppStore
internal import FerryTerminal

/// The status of a receiver as lines for a terminal.
extension AppStoreStatus: ShownStatus {
    static var server: AdministeredServer { .appstore }

    var lines: [String] {
        let posts = self.posts
        var lines = [
            "posts \(FigureText.rate(self.rate.read))/s, taken \(FigureText.rate(self.rate.accepted))/s, "
                + "waiting \(self.waiting), the oldest \(StatusWords.duration(self.oldestAge))",
            "in all: posts \(posts.posts), verified \(posts.verified), taken \(posts.taken), copies \(posts.copies), "
                + "postponed \(posts.postponed), refused \(posts.refused)",
        ]
        if !self.refusals.isEmpty {
            let causes = self.refusals.sorted { ($1.value, $0.key) < ($0.value, $1.key) }
                .map { "\($0.key) \($0.value)" }
            lines.append("refused: \(causes.joined(separator: ", "))")
        }
        if !self.destinations.isEmpty { lines += ["", self.destinationTable.description] }
        return lines
    }

    private var destinationTable: TextTable {
        var table = TextTable(
            rows: [["destination", "state", "waiting", "delivered", "failed", "aside", "median", "99 %"]],
            alignment: [.left, .left, .right, .right, .right, .right, .right, .right]
        )
        for destination in self.destinations {
            table.rows.append([
                destination.name, destination.state.rawValue, "\(destination.waiting)", "\(destination.delivered)",
                "\(destination.failed)", "\(destination.setAside)", StatusWords.duration(destination.p50),
                StatusWords.duration(destination.p99),
            ])
        }
        return table
    }
}

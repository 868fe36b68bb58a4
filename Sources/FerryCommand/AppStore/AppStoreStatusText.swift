internal import FerryAdmin
internal import FerryAppStore
internal import FerryTerminal

/// The status of a receiver as lines for a terminal.
struct AppStoreStatusText {
    private let status: AppStoreStatus

    init(_ status: AppStoreStatus) { self.status = status }

    /// One screen.
    var screen: String {
        let (status, posts) = (self.status, self.status.posts)
        let age = FigureText.time(Double(status.now - status.startedAt))
        var lines = [
            "ferry appstore \(status.ferry), since \(age): \(status.condition.level.word)", status.condition.sentence,
        ]
        for trouble in status.troubles.dropFirst().prefix(3) { lines.append(trouble.sentence) }
        lines += [
            "",
            "posts \(FigureText.rate(status.rate.read))/s, taken \(FigureText.rate(status.rate.accepted))/s, "
                + "waiting \(status.waiting), the oldest \(FigureText.time(status.oldestAge))",
            "in all: posts \(posts.posts), verified \(posts.verified), taken \(posts.taken), copies \(posts.copies), "
                + "postponed \(posts.postponed), refused \(posts.refused)",
        ]
        if !status.refusals.isEmpty {
            let causes = status.refusals.sorted { ($1.value, $0.key) < ($0.value, $1.key) }
                .map { "\($0.key) \($0.value)" }
            lines.append("refused: \(causes.joined(separator: ", "))")
        }
        if !status.destinations.isEmpty { lines += ["", self.destinations.description] }
        if let alarm = status.alarms.last {
            lines += ["", "last alarm, \(FigureText.time(Double(status.now - alarm.at))) ago: \(alarm.sentence)"]
        }
        return lines.joined(separator: "\n")
    }

    private var destinations: TextTable {
        var table = TextTable(
            rows: [["destination", "state", "waiting", "delivered", "failed", "aside", "median", "99 %"]],
            alignment: [.left, .left, .right, .right, .right, .right, .right, .right]
        )
        for destination in self.status.destinations {
            table.rows.append([
                destination.name, destination.state.rawValue, "\(destination.waiting)", "\(destination.delivered)",
                "\(destination.failed)", "\(destination.setAside)", FigureText.time(destination.p50),
                FigureText.time(destination.p99),
            ])
        }
        return table
    }
}

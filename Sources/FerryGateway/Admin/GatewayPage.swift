package import FerryAdmin
internal import FerryPlatform

/// The page of a gateway for people.
package struct GatewayPage: Sendable {
    private let frame = PageFrame()

    package init() {}

    package func answer(_ status: GatewayStatus) -> AdminAnswer {
        let word =
            switch status.condition.level {
            case .well: "Well"
            case .trouble: "Trouble"
            case .down: "Down"
            }
        let main = """
            <a class="skip" href="#figures">To the figures</a>
            <header>
            <p>Ferry gateway \(HTML.escaped(status.ferry))</p>
            <h1 role="status" \(Self.bound("condition.sentence|s", status.condition.sentence))</h1>
            <p><span id="live">As of</span> \(Self.clock("now", status.now))</p>
            </header>
            <main>
            \(Self.troubles(status))
            \(Self.cards(status))
            \(Self.picture(status))
            \(Self.upstreams(status))
            \(Self.clients(status))
            \(Self.refusals(status))
            \(Self.certificates(status))
            \(Self.alarms(status))
            </main>
            """
        return self.frame.answer(title: "\(word): Ferry gateway", level: status.condition.level, main)
    }

    // MARK: Pieces

    /// The rest of a start tag with a binding, and the text that it has without the script.
    private static func bound(_ binding: String, _ text: String) -> String {
        "data-b=\"\(HTML.escaped(binding))\">\(HTML.escaped(text))"
    }

    private static func number(_ binding: String, _ number: Int) -> String {
        "<td class=\"n\" \(self.bound("\(binding)|n", HTML.number(number)))</td>"
    }

    private static func cell(_ binding: String, _ text: String) -> String { "<td \(self.bound(binding, text))</td>" }

    private static func clock(_ binding: String, _ seconds: Int) -> String {
        let text = Date(timeIntervalSince1970: Double(seconds)).formatted(.iso8601)
        return "<time datetime=\"\(text)\" \(self.bound("\(binding)|l", text))</time>"
    }

    private static func ago(_ binding: String, _ seconds: Int?, now: Int) -> String {
        let text = seconds.map { now - $0 < 2 ? "now" : "\(HTML.time(Double(now - $0))) ago" } ?? "never"
        return self.cell("\(binding)|a", text)
    }

    private static func table(_ title: String, _ columns: [(String, isNumber: Bool)], _ rows: [String]) -> String {
        let head = columns.map { "<th scope=\"col\"\($0.isNumber ? " class=\"n\"" : "")>\($0.0)</th>" }.joined()
        let id = title.lowercased().replacing(" ", with: "-")
        return """
            <section aria-labelledby="\(id)"><h2 id="\(id)">\(title)</h2>
            <div class="wide" tabindex="0" role="region" aria-labelledby="\(id)"><table>
            <thead><tr>\(head)</tr></thead><tbody>
            \(rows.map { "<tr>\($0)</tr>" }.joined(separator: "\n"))
            </tbody></table></div></section>
            """
    }

    // MARK: Sections

    /// The troubles behind the first, which stands in the head.
    private static func troubles(_ status: GatewayStatus) -> String {
        guard status.troubles.count > 1 else { return "" }
        let lines = status.troubles.indices.dropFirst().map {
            "<li \(self.bound("troubles.\($0).sentence|s", status.troubles[$0].sentence))</li>"
        }
        return "<section><h2>Besides</h2><ul class=\"plain\">\(lines.joined())</ul></section>"
    }

    private static func cards(_ status: GatewayStatus) -> String {
        func card(_ name: String, _ binding: String, _ text: String) -> String {
            "<div><dt>\(name)</dt><dd \(self.bound(binding, text))</dd></div>"
        }
        let counts = status.counts
        return """
            <dl class="cards" id="figures">
            \(card("read a second", "rate.read|r", HTML.rate(status.rate.read)))
            \(card("accepted a second", "rate.accepted|r", HTML.rate(status.rate.accepted)))
            \(card("without an answer", "unanswered|n", HTML.number(status.unanswered)))
            \(card("the oldest of them", "oldestAge|t", HTML.time(status.oldestAge)))
            \(card("read", "counts.read|n", HTML.number(counts.read)))
            \(card("accepted", "counts.accepted|n", HTML.number(counts.accepted)))
            \(card("rejected", "counts.refused|n", HTML.number(counts.refused)))
            \(card("devices gone", "counts.gone|n", HTML.number(counts.gone)))
            \(card("copies swallowed", "counts.swallowed|n", HTML.number(counts.swallowed)))
            \(card("dead letters", "counts.deadLetters|n", HTML.number(counts.deadLetters)))
            </dl>
            """
    }

    private static func picture(_ status: GatewayStatus) -> String {
        let steps = status.history
        let top = steps.reduce(0) { max($0, $1.read, $1.accepted, $1.rejected) }
        func line(_ name: String, _ value: (RateHistory.Step) -> Int) -> String {
            let points = steps.enumerated().map { index, step in
                let height = top == 0 ? 0 : Double(value(step)) / Double(top) * 140
                return "\(720 - (steps.count - index) * 2),\((1500 - height * 10).rounded() / 10)"
            }
            return "<polyline class=\"\(name)\" points=\"\(points.joined(separator: " "))\"/>"
        }
        return """
            <section aria-labelledby="hour"><h2 id="hour">The last hour</h2>
            <svg viewBox="0 0 720 160" role="img" aria-label="Notifications read, accepted and rejected in the last hour, in steps \
            of ten seconds">\(line("read") { $0.read })\(line("accepted") { $0.accepted })\(line("rejected") { $0.rejected })</svg>
            <p class="key quiet"><span><i class="r"></i>read</span><span><i class="a"></i>accepted</span>\
            <span><i class="x"></i>rejected</span><span>highest: <b id="scale">\(HTML.rate(Double(top) / 10))</b> a second</span></p>
            </section>
            """
    }

    private static func upstreams(_ status: GatewayStatus) -> String {
        let rows = status.upstreams.enumerated().map { index, upstream in
            let path = "upstreams.\(index)"
            return "<th scope=\"row\">\(HTML.escaped(upstream.name))</th>"
                + self.cell("\(path).address|s", upstream.address)
                + self.cell("\(path).state|s", upstream.state.rawValue)
                + self.number("\(path).connections", upstream.connections)
                + self.number("\(path).requests", upstream.requests)
                + self.number("\(path).accepted", upstream.accepted)
                + self.number("\(path).refused", upstream.refused)
                + "<td class=\"n\" \(self.bound("\(path).p50|t", HTML.time(upstream.p50)))</td>"
                + "<td class=\"n\" \(self.bound("\(path).p99|t", HTML.time(upstream.p99)))</td>"
                + self.number("\(path).held", upstream.held)
                + "<td class=\"w\" \(self.bound("\(path).lastError.sentence|s", upstream.lastError?.sentence ?? "–"))</td>"
        }
        return self.table(
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
        let rows = status.clients.enumerated().map { index, client in
            let path = "clients.\(index)"
            return "<th scope=\"row\">\(HTML.escaped(client.name))</th>"
                + self.cell("\(path).upstream|s", client.upstream)
                + self.number("\(path).connections", client.connections)
                + self.ago("\(path).heardAt", client.heardAt, now: status.now)
                + self.number("\(path).counts.read", client.counts.read)
                + self.number("\(path).counts.accepted", client.counts.accepted)
                + self.number("\(path).counts.refused", client.counts.refused)
                + self.number("\(path).counts.told", client.counts.told)
                + self.number("\(path).feedbackRows", client.feedbackRows)
                + self.cell("\(path).told|s", client.told)
        }
        return self.table(
            "Clients",
            [
                ("name", false), ("upstream", false), ("connections", true), ("heard", false), ("read", true),
                ("accepted", true), ("rejected", true), ("told", true), ("feedback", true), ("what it is told", false),
            ],
            rows
        )
    }

    private static func refusals(_ status: GatewayStatus) -> String {
        guard !status.refusals.isEmpty else { return "" }
        let rows = status.refusals.sorted { ($1.value, $0.key) < ($0.value, $1.key) }.map { reason, count in
            "<th scope=\"row\">\(HTML.escaped(reason))</th>" + self.number("refusals.\(reason)", count)
        }
        return self.table("Answers by reason", [("reason", false), ("answers", true)], rows)
    }

    private static func certificates(_ status: GatewayStatus) -> String {
        guard !status.certificates.isEmpty else { return "" }
        let rows = status.certificates.enumerated().map { index, end in
            let days = end.daysLeft(now: status.now)
            let text = days < 0 ? "ended" : days == 1 ? "1 day" : "\(HTML.number(days)) days"
            return "<th scope=\"row\">\(HTML.escaped(end.file))</th><td>\(HTML.escaped(end.use))</td>"
                + "<td class=\"n\" \(self.bound("certificates.\(index).endsAt|d", text))</td>"
        }
        return self.table("Certificates", [("file", false), ("used as", false), ("left", true)], rows)
    }

    private static func alarms(_ status: GatewayStatus) -> String {
        let lines = status.alarms.enumerated().reversed().map { index, alarm in
            "<li>\(self.clock("alarms.\(index).at", alarm.at)) \(HTML.escaped(alarm.sentence))</li>"
        }
        let none = "<p class=\"quiet\">None since the start.</p>"
        let list = lines.isEmpty ? none : "<ul class=\"plain\">\(lines.joined())</ul>"
        return "<section><h2>Last alarms</h2>\(list)</section>"
    }
}

internal import FerryPlatform

/// Parts of a page for people. The page of each service has them.
package enum PagePiece {
    /// A column of a table.
    package typealias Column = (name: String, isNumber: Bool)

    /// A figure above the tables.
    package struct Card {
        fileprivate let name: String
        fileprivate let binding: String
        fileprivate let text: String

        package static func number(_ name: String, _ binding: String, _ number: Int) -> Self {
            Self(name: name, binding: "\(binding)|n", text: FigureText.number(number))
        }

        package static func rate(_ name: String, _ binding: String, _ rate: Double) -> Self {
            Self(name: name, binding: "\(binding)|r", text: FigureText.rate(rate))
        }

        package static func time(_ name: String, _ binding: String, _ seconds: Double?) -> Self {
            Self(name: name, binding: "\(binding)|t", text: StatusWords.duration(seconds))
        }
    }

    /// Returns the end of a start tag with a binding, and the text that the element has without the script.
    package static func bound(_ binding: String, _ text: String) -> String {
        "data-b=\"\(HTML.escaped(binding))\">\(HTML.escaped(text))"
    }

    // MARK: Cells

    package static func head(_ text: String) -> String { "<th scope=\"row\">\(HTML.escaped(text))</th>" }

    package static func cell(_ binding: String, _ text: String) -> String { "<td \(self.bound(binding, text))</td>" }

    /// A cell whose text may break into lines.
    package static func wideCell(_ binding: String, _ text: String) -> String {
        "<td class=\"w\" \(self.bound(binding, text))</td>"
    }

    package static func number(_ binding: String, _ number: Int?) -> String {
        "<td class=\"n\" \(self.bound("\(binding)|n", number.map(FigureText.number) ?? "–"))</td>"
    }

    package static func time(_ binding: String, _ seconds: Double?) -> String {
        "<td class=\"n\" \(self.bound("\(binding)|t", StatusWords.duration(seconds)))</td>"
    }

    package static func ago(_ binding: String, _ seconds: Int?, now: Int) -> String {
        self.cell("\(binding)|a", StatusWords.ago(seconds, now: now))
    }

    package static func clock(_ binding: String, _ seconds: Int) -> String {
        let text = Date(timeIntervalSince1970: Double(seconds)).formatted(.iso8601)
        return "<time datetime=\"\(text)\" \(self.bound("\(binding)|l", text))</time>"
    }

    // MARK: Sections

    /// - Parameter note: a sentence below the table.
    package static func table(
        _ title: String,
        _ columns: [Column],
        _ rows: [String],
        note: String? = nil
    ) -> String {
        let head = columns.map { "<th scope=\"col\"\($0.isNumber ? " class=\"n\"" : "")>\($0.name)</th>" }.joined()
        let id = title.lowercased().replacing(" ", with: "-")
        let below = note.map { "<p class=\"quiet\">\(HTML.escaped($0))</p>" } ?? ""
        return """
            <section aria-labelledby="\(id)"><h2 id="\(id)">\(title)</h2>
            <div class="wide" tabindex="0" role="region" aria-labelledby="\(id)"><table>
            <thead><tr>\(head)</tr></thead><tbody>
            \(rows.map { "<tr>\($0)</tr>" }.joined(separator: "\n"))
            </tbody></table></div>\(below)</section>
            """
    }

    /// Returns the section of the troubles without the first trouble, because the first is in the head of the page.
    /// Returns an empty text if there is at most one trouble.
    package static func troubles(_ troubles: [Condition]) -> String {
        guard troubles.count > 1 else { return "" }
        let lines = troubles.indices.dropFirst().map {
            "<li \(self.bound("troubles.\($0).sentence|s", troubles[$0].sentence))</li>"
        }
        return "<section aria-labelledby=\"besides\"><h2 id=\"besides\">Besides</h2>"
            + "<ul class=\"plain\">\(lines.joined())</ul></section>"
    }

    package static func cards(_ cards: [Card]) -> String {
        let rows = cards.map { "<div><dt>\($0.name)</dt><dd \(self.bound($0.binding, $0.text))</dd></div>" }
        return "<dl class=\"cards\" id=\"figures\">\n\(rows.joined(separator: "\n"))\n</dl>"
    }

    /// The picture of the last hour.
    ///
    /// - Parameters:
    ///   - noun: the counted events: `Notifications`.
    ///   - words: the words for the three lines.
    package static func picture(
        _ steps: [RateHistory.Step],
        of noun: String,
        _ words: (read: String, accepted: String, rejected: String)
    ) -> String {
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
            <svg viewBox="0 0 720 160" preserveAspectRatio="none" role="img" \
            aria-label="\(noun) \(words.read), \(words.accepted) and \(words.rejected) in the last hour, \
            in steps of ten seconds">\(line("read") { $0.read })\(line("accepted") { $0.accepted })\
            \(line("rejected") { $0.rejected })</svg>
            <p class="key quiet"><span><i class="r"></i>\(words.read)</span><span><i class="a"></i>\(words.accepted)</span>\
            <span><i class="x"></i>\(words.rejected)</span><span>highest: <b id="scale">\(FigureText.rate(Double(top) / 10))</b> \
            a second</span></p>
            </section>
            """
    }

    /// Returns a table with a row for each name in `counts`, the largest count first. Returns an empty text without
    /// counts.
    ///
    /// - Parameters:
    ///   - word: the heading of the column of names.
    ///   - member: the member of the status that has the counts.
    package static func counts(_ title: String, _ word: String, _ member: String, _ counts: [String: Int]) -> String {
        guard !counts.isEmpty else { return "" }
        let rows = counts.sorted { ($1.value, $0.key) < ($0.value, $1.key) }.map { name, count in
            self.head(name) + self.number("\(member).\(self.key(name))", count)
        }
        return self.table(title, [(word, false), ("count", true)], rows)
    }

    /// Escapes a name, so that it can be one step of a path into the status. In the path `refusals.BadDeviceToken|n`, a
    /// dot divides two steps, and the bar ends the last one. So dots, bars and `%` in the name are escaped.
    static func key(_ name: String) -> String {
        [("%", "%25"), (".", "%2E"), ("|", "%7C")].reduce(name) { $0.replacing($1.0, with: $1.1) }
    }

    package static func certificates(_ ends: [CertificateStatus], now: Int) -> String {
        guard !ends.isEmpty else { return "" }
        let rows = ends.enumerated().map { index, end in
            let days = end.daysLeft(now: now)
            let text = days < 0 ? "ended" : days == 1 ? "1 day" : "\(FigureText.number(days)) days"
            return "<th scope=\"row\" \(self.bound("certificates.\(index).file|s", end.file))</th>"
                + self.cell("certificates.\(index).use|s", end.use)
                + "<td class=\"n\" \(self.bound("certificates.\(index).endsAt|d", text))</td>"
        }
        return self.table("Certificates", [("file", false), ("used as", false), ("left", true)], rows)
    }

    package static func alarms(_ alarms: [AlarmLine]) -> String {
        let lines = alarms.enumerated().reversed().map { index, alarm in
            "<li>\(self.clock("alarms.\(index).at", alarm.at)) "
                + "<span \(self.bound("alarms.\(index).sentence|s", alarm.sentence))</span></li>"
        }
        let none = "<p class=\"quiet\">None since the start.</p>"
        let list = lines.isEmpty ? none : "<ul class=\"plain\">\(lines.joined())</ul>"
        return "<section aria-labelledby=\"last-alarms\"><h2 id=\"last-alarms\">Last alarms</h2>\(list)</section>"
    }
}

internal import Ferry
internal import FerryTerminal

/// The result of a run.
struct PushSummary: Equatable {
    /// The number of notifications that the provider took.
    var submitted = 0
    var outcomes = OutcomeCounts()
    /// The number of presumed acceptances at the end of the run that should have been proved and could not be.
    var unproved = 0
    var contradicted = 0
    var resent = 0
    var badLines = 0
    var duration: Duration = .zero
    /// The two protocols side by side. Nil if there was only one.
    var migration: MigrationReport?

    /// Whether everything was accepted, as far as the provider knows.
    var isAllAccepted: Bool {
        self.outcomes.accepted == self.submitted && self.contradicted == 0 && self.badLines == 0
    }

    private var milliseconds: Int { Int((self.duration / .milliseconds(1)).rounded()) }

    /// The duration in seconds, with three decimals.
    private var seconds: String {
        let fraction = String(self.milliseconds % 1000)
        return "\(self.milliseconds / 1000).\(String(repeating: "0", count: 3 - fraction.count))\(fraction)"
    }

    /// The rate in outcomes a second, with one decimal.
    private var perSecond: String {
        guard self.milliseconds > 0 else { return "0.0" }
        let tenths = Int((Double(self.outcomes.settled) * 10_000 / Double(self.milliseconds)).rounded())
        return "\(tenths / 10).\(tenths % 10)"
    }

    /// One JSON object, in one line.
    var json: String {
        let outcomes = self.outcomes
        return #"{"submitted":\#(self.submitted),"#
            + #""accepted":{"confirmed":\#(outcomes.confirmed),"presumed":\#(outcomes.presumed)},"#
            + #""rejected":\#(outcomes.rejected),"expired":\#(outcomes.expired),"#
            + #""undelivered":\#(outcomes.undelivered),"uncertain":\#(outcomes.uncertain),"#
            + #""unproved":\#(self.unproved),"contradicted":\#(self.contradicted),"resent":\#(self.resent),"badLines":\#(self.badLines),"#
            + #""seconds":\#(self.seconds),"perSecond":\#(self.perSecond)"#
            + (self.migration.map { #","migration":\#(MigrationTable(report: $0).json)"# } ?? "") + "}"
    }

    /// The tables for people.
    var text: String { self.table + (self.migration.map { "\n\n" + MigrationTable(report: $0).text } ?? "") }

    /// A table for people.
    var table: String {
        let outcomes = self.outcomes
        let rows: [(String, String)] = [
            ("submitted", "\(self.submitted)"),
            ("accepted, confirmed", "\(outcomes.confirmed)"),
            ("accepted, presumed", "\(outcomes.presumed)"),
            ("presumed, unproved", "\(self.unproved)"),
            ("rejected", "\(outcomes.rejected)"),
            ("expired", "\(outcomes.expired)"),
            ("undelivered", "\(outcomes.undelivered)"),
            ("uncertain", "\(outcomes.uncertain)"),
            ("contradicted", "\(self.contradicted)"),
            ("sent again", "\(self.resent)"),
            ("bad lines", "\(self.badLines)"),
            ("seconds", "\(self.seconds)"),
            ("per second", "\(self.perSecond)"),
        ]
        return TextTable(rows: rows.map { [$0.0, $0.1] }, alignment: [.left, .right]).description
    }
}

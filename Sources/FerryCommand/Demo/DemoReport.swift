/// What two sides say about the same thing, row by row.
struct DemoReport: Equatable {
    struct Row: Equatable {
        var what: String
        /// What must be, or what the one side says.
        var expected: Int
        /// What is, or what the other side says.
        var actual: Int

        var isRight: Bool { self.expected == self.actual }
    }

    var rows: [Row] = []

    var isRight: Bool { self.rows.allSatisfy(\.isRight) }

    var table: String {
        let rows = self.rows.map { [$0.what, "\($0.expected)", "\($0.actual)", $0.isRight ? "✓" : "✗"] }
        return TextTable(
            rows: [["", "expected", "counted", ""]] + rows,
            alignment: [.left, .right, .right, .left]
        )
        .description
    }
}

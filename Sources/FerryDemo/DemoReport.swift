internal import FerryTerminal

/// A comparison of the two sides, row by row.
package struct DemoReport: Equatable {
    struct Row: Equatable {
        var what: String
        /// The required value, or the value of one side.
        var expected: Int
        /// The actual value, or the value of the other side.
        var actual: Int

        var isRight: Bool { self.expected == self.actual }
    }

    var rows: [Row] = []

    package var isRight: Bool { self.rows.allSatisfy(\.isRight) }

    package var table: String {
        let rows = self.rows.map { [$0.what, "\($0.expected)", "\($0.actual)", $0.isRight ? "✓" : "✗"] }
        return TextTable(
            rows: [["", "expected", "counted", ""]] + rows,
            alignment: [.left, .right, .right, .left]
        )
        .description
    }
}

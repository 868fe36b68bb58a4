/// A table of text in columns.
package struct TextTable: CustomStringConvertible {
    package enum Alignment {
        case left, right
    }

    package var rows: [[String]]
    /// The alignment of each column.
    package var alignment: [Alignment]

    package init(rows: [[String]], alignment: [Alignment]) {
        self.rows = rows
        self.alignment = alignment
    }

    package var description: String {
        let widths = self.alignment.indices.map { column in
            self.rows.map { $0[column].count }.max() ?? 0
        }
        return self.rows.map { row in
            let cells = self.alignment.indices.map { column in
                let padding = String(repeating: " ", count: widths[column] - row[column].count)
                return self.alignment[column] == .left ? row[column] + padding : padding + row[column]
            }
            var line = cells.joined(separator: "  ")
            while line.last == " " { line.removeLast() }
            return line
        }
        .joined(separator: "\n")
    }
}

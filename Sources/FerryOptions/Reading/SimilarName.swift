/// The search for the name that a mistyped one means.
package enum SimilarName {
    /// Returns the name in `names` with the fewest changed bytes, if these are at most a third of that name's length;
    /// otherwise nil. Upper and lower case count as equal.
    ///
    /// Cost: the product of both lengths, for each name.
    package static func of(_ name: String, among names: [String]) -> String? {
        let nearest = names.map { (name: $0, distance: Self.distance(name.lowercased(), $0.lowercased())) }
            .min { $0.distance < $1.distance }
        guard let nearest, nearest.distance * 3 <= nearest.name.utf8.count else { return nil }
        return nearest.name
    }

    /// The Levenshtein distance.
    private static func distance(_ one: String, _ other: String) -> Int {
        let other = Array(other.utf8)
        var row = Array(0...other.count)
        for (index, byte) in one.utf8.enumerated() {
            var diagonal = row[0]
            row[0] = index + 1
            for column in other.indices {
                let change = diagonal + (byte == other[column] ? 0 : 1)
                diagonal = row[column + 1]
                row[column + 1] = min(change, diagonal + 1, row[column] + 1)
            }
        }
        return row[other.count]
    }
}

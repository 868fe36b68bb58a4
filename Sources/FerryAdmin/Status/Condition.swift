/// The condition of a service, as one colour and one sentence.
package struct Condition: Hashable, Codable, Sendable {
    package enum Level: String, Codable, Comparable, Sendable {
        /// The service does its work.
        case well
        /// The service does its work, but somebody should look.
        case trouble
        /// The service does not do its work.
        case down

        private var rank: Int {
            switch self {
            case .well: 0
            case .trouble: 1
            case .down: 2
            }
        }

        package static func < (left: Self, right: Self) -> Bool { left.rank < right.rank }

        /// The word in the title of the page.
        package var title: String {
            switch self {
            case .well: "Well"
            case .trouble: "Trouble"
            case .down: "Down"
            }
        }

        /// The word in the first line of a terminal's screen.
        package var word: String {
            switch self {
            case .well: "well"
            case .trouble: "with trouble"
            case .down: "down"
            }
        }
    }

    package var level: Level
    package var sentence: String

    package init(_ level: Level, _ sentence: String) {
        self.level = level
        self.sentence = sentence
    }
}

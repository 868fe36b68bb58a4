/// The answer of a health route.
package struct Health: Hashable, Codable, Sendable {
    package var isGood: Bool
    package var sentence: String

    package init(isGood: Bool, _ sentence: String) {
        self.isGood = isGood
        self.sentence = sentence
    }
}

/// Events per second, averaged over the last ten to twenty seconds, or since the start or the last change of the rate
/// if that was later.
package struct Rate: Hashable, Codable, Sendable {
    package var read: Double
    package var accepted: Double
    package var rejected: Double

    package init(read: Double, accepted: Double, rejected: Double) {
        self.read = read
        self.accepted = accepted
        self.rejected = rejected
    }
}

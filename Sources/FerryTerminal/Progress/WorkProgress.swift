/// The progress of a long piece of work.
package struct WorkProgress: Equatable, Sendable {
    /// The part that is done, 0 to 1; nil if the size of the work is unknown.
    package var fraction: Double?
    /// A count that grows steadily; nil if the work has no steady steps. Its growth is the rate.
    package var count: Int?
    /// Further words, such as "settled 100".
    package var words: [String]

    package init(fraction: Double? = nil, count: Int? = nil, words: [String]) {
        self.fraction = fraction
        self.count = count
        self.words = words
    }
}

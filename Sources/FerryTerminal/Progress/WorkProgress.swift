/// The progress of a long piece of work.
package struct WorkProgress: Equatable, Sendable {
    /// The part that is done, 0 to 1. Nil if nobody knows the size of the work.
    package var fraction: Double?
    /// A count that grows steadily. Its growth is the rate. Nil if the work has no steady steps.
    package var count: Int?
    /// Further words, such as "settled 100".
    package var words: [String]

    package init(fraction: Double? = nil, count: Int? = nil, words: [String]) {
        self.fraction = fraction
        self.count = count
        self.words = words
    }
}

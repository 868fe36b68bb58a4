extension String {
    /// The text as a sentence: with a capital letter and a full stop.
    package var asSentence: String { self.prefix(1).uppercased() + self.dropFirst() + "." }
}

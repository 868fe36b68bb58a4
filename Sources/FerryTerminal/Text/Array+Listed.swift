extension [String] {
    /// The elements, separated by commas, with "and" before the last.
    package var listed: String {
        guard let last, self.count > 1 else { return self.first ?? "" }
        return "\(self.dropLast().joined(separator: ", ")) and \(last)"
    }
}

extension Int {
    /// The limit that this number sets as the value of an option: 0 sets no limit.
    var limit: Int? { self > 0 ? self : nil }
}

extension Duration {
    /// The limit that this time sets as the value of an option: 0 sets no limit.
    var limit: Duration? { self > .zero ? self : nil }
}

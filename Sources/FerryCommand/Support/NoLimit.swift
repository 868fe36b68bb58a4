extension Int {
    /// The limit that this number sets as a text option: 0 sets none.
    var limit: Int? { self > 0 ? self : nil }
}

extension Duration {
    /// The limit that this time sets as a text option: 0 sets none.
    var limit: Duration? { self > .zero ? self : nil }
}

extension String {
    /// The longest beginning of the text that has at most `limit` bytes in UTF-8, and ends between two scalars.
    ///
    /// Use it wherever a peer decides how long a text is. A limit in characters is no bound: one letter may have thousands of
    /// accents.
    package func beginning(utf8 limit: Int) -> Substring {
        let utf8 = self.utf8
        guard limit > 0 else { return "" }
        guard var end = utf8.index(utf8.startIndex, offsetBy: limit, limitedBy: utf8.endIndex), end < utf8.endIndex
        else { return self[...] }
        while end.samePosition(in: self.unicodeScalars) == nil { utf8.formIndex(before: &end) }
        return self[..<end]
    }
}

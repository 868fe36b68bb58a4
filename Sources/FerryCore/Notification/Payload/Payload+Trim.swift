extension Payload {
    /// The payload limit of the binary protocol, 2048 bytes.
    public static let binaryLimit = PayloadLimit.binary

    /// The result of ``trim(to:atWordEnd:)``.
    public enum Trimming: Hashable, Sendable {
        /// The payload fits as it is.
        case fits
        /// The end of the body, `removed`, was cut off. In JSON it had `bytes` bytes.
        case trimmed(removed: String, bytes: Int)
        /// Even without its body, the payload would be `excess` bytes too large. Nothing was changed.
        case cannotFit(excess: Int)
    }

    /// Shortens the alert's body from its end, so that the JSON has at most `limit` bytes.
    ///
    /// Cuts only between characters as people see them (grapheme clusters), so it never splits an emoji or an escape.
    /// The body may become empty, but it stays.
    ///
    /// node-apn's `trim` removes the same text where it can, with four differences. It cuts between code points. It
    /// returns one number for three results. `trim(0)` means 2048 there and 0 here. It removes blanks before a word's
    /// end only one at a time.
    ///
    /// - Parameters:
    ///   - limit: the largest number of bytes of JSON in UTF-8.
    ///   - atWordEnd: whether to cut back to the end of a word, unless not even one word fits.
    /// - Complexity: O(n) in the length of the payload.
    @discardableResult
    public mutating func trim(to limit: Int = Payload.binaryLimit, atWordEnd: Bool = false) -> Trimming {
        let excess = self.write().count - limit
        guard excess > 0 else { return .fits }
        // A localised body of a Live Activity replaces the text, so the text is not in the JSON.
        guard let body = self.alert?.body, self.liveActivity == nil || self.alert?.locKey == nil else {
            return .cannotFit(excess: excess)
        }
        let length = body.jsonLength
        guard length >= excess else { return .cannotFit(excess: excess - length) }

        var end = Self.end(of: body, within: length - excess)
        if atWordEnd { end = Self.wordEnd(of: body, before: end) }
        let removed = String(body[end...])
        self.alert?.body = String(body[..<end])
        return .trimmed(removed: removed, bytes: removed.jsonLength)
    }

    /// Returns the end of the longest run of whole characters that has at most `room` bytes in JSON.
    private static func end(of body: String, within room: Int) -> String.Index {
        var room = room
        var end = body.startIndex
        while end < body.endIndex {
            let next = body.index(after: end)
            room -= body[end..<next].jsonLength
            guard room >= 0 else { break }
            end = next
        }
        return end
    }

    /// Returns the end of the last whole word before `end`; `end` itself if there is no whole word.
    private static func wordEnd(of body: String, before end: String.Index) -> String.Index {
        guard end < body.endIndex else { return end }
        var kept = body[..<end]
        if !body[end].isWhitespace {
            guard let space = kept.lastIndex(where: \.isWhitespace) else { return end }
            kept = kept[..<space]
        }
        guard let last = kept.lastIndex(where: { !$0.isWhitespace }) else { return end }
        return body.index(after: last)
    }
}

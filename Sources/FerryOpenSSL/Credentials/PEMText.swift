internal import FerryCore
internal import FerryPlatform

/// The repair of PEM text that lost its line breaks on its way through an environment variable, a JSON file or a secret
/// store. OpenSSL reads a line at a time, so it would find nothing in such a text.
///
/// | text | repair |
/// |---|---|
/// | the Base64 of a whole file, or of DER | decoded |
/// | `\n` written as two characters | a line break |
/// | no line breaks, or spaces in their place | lines of 64 characters |
/// | lines that begin with spaces or quotes | without them |
enum PEMText {
    private static let begin = Array("-----BEGIN ".utf8)
    private static let end = Array("-----END ".utf8)
    private static let dashes = Array("-----".utf8)
    /// RFC 7468, section 2: generators write lines of 64 characters.
    private static let lineLength = 64
    /// Longer lines mean that line breaks were lost. OpenSSL itself reads lines that are far longer.
    private static let longestLine = 80
    /// The shortest text that is taken for Base64. A P-256 key in DER form has 67 bytes at least.
    private static let shortestBase64 = 80

    /// A part between `-----BEGIN LABEL-----` and `-----END LABEL-----`.
    private struct Block {
        var label: ArraySlice<UInt8>
        var body: ArraySlice<UInt8>
        /// Whether OpenSSL reads it as it stands.
        var isInOrder: Bool
    }

    /// Returns the text in the form that OpenSSL reads; `bytes` themselves if nothing is wrong, or nothing can be repaired.
    static func repaired(_ bytes: [UInt8]) -> [UInt8] {
        var text = bytes.withoutByteOrderMark
        if !PEM.isText(text) {
            guard let decoded = self.decoded(text) else { return text }
            text = decoded
        }
        guard let blocks = self.blocks(text), !blocks.allSatisfy(\.isInOrder) else { return text }
        let broken = self.breakingLines(text)
        return (self.blocks(broken) ?? blocks).reduce(into: []) { $0 += self.lines($1) }
    }

    /// Returns the decoded bytes of Base64, if they are PEM text or begin as DER does.
    private static func decoded(_ text: [UInt8]) -> [UInt8]? {
        guard text.count >= self.shortestBase64, text.allSatisfy({ $0.isBase64 || self.isFiller($0) }),
            let data = Data(base64Encoded: Data(text.filter(\.isBase64)))
        else { return nil }
        let bytes = Array(data).withoutByteOrderMark
        // DER: a SEQUENCE.
        return PEM.isText(bytes) || bytes.first == 0x30 ? bytes : nil
    }

    /// Returns all blocks; nil if one has no end.
    private static func blocks(_ text: [UInt8]) -> [Block]? {
        var blocks: [Block] = []
        var rest = text[...]
        while let start = rest.firstRange(of: self.begin) {
            let afterBegin = rest[start.upperBound...]
            guard let labelEnd = afterBegin.firstRange(of: self.dashes),
                let end = afterBegin[labelEnd.upperBound...].firstRange(of: self.end),
                let last = afterBegin[end.upperBound...].firstRange(of: self.dashes)
            else { return nil }
            let body = afterBegin[labelEnd.upperBound..<end.lowerBound]
            let startsLine = start.lowerBound == text.startIndex || self.isLineBreak(text[start.lowerBound - 1])
            blocks.append(
                Block(
                    label: afterBegin[..<labelEnd.lowerBound],
                    body: body,
                    isInOrder: startsLine && self.isInOrder(body)
                )
            )
            rest = afterBegin[last.upperBound...]
        }
        return blocks
    }

    /// Whether the body of a block stands in lines that OpenSSL reads. Bytes that never stand there are damage, which
    /// OpenSSL reports.
    private static func isInOrder(_ body: ArraySlice<UInt8>) -> Bool {
        // "DEK-Info: …": lines before the Base64 of an old encrypted key.
        if body.contains(UInt8(ascii: ":")), !body.contains(UInt8(ascii: "\\")) { return true }
        guard let last = body.last, self.isLineBreak(last),
            let first = body.first(where: { $0 != UInt8(ascii: " ") }), self.isLineBreak(first)
        else { return false }
        return body.split(whereSeparator: self.isLineBreak).allSatisfy { line in
            line.count <= self.longestLine && line.first.map { !self.isFiller($0) } ?? true
        }
    }

    /// Replaces `\n` and `\r` of two characters by a line break, and `\r\n` by one: OpenSSL reads nothing behind an empty
    /// line.
    private static func breakingLines(_ text: [UInt8]) -> [UInt8] {
        var result: [UInt8] = []
        result.reserveCapacity(text.count)
        var rest = text[...]
        while let byte = rest.first {
            let escape =
                byte == UInt8(ascii: "\\") ? [#"\r\n"#, #"\n"#, #"\r"#].first { rest.starts(with: $0.utf8) } : nil
            result.append(escape == nil ? byte : UInt8(ascii: "\n"))
            rest = rest.dropFirst(escape?.utf8.count ?? 1)
        }
        return result
    }

    private static func lines(_ block: Block) -> [UInt8] {
        let feed = [UInt8(ascii: "\n")]
        var lines = self.begin + block.label + self.dashes
        if block.isInOrder {
            lines += block.body
        } else {
            var rest = block.body.filter { !self.isFiller($0) }[...]
            while !rest.isEmpty {
                lines += feed + rest.prefix(self.lineLength)
                rest = rest.dropFirst(self.lineLength)
            }
            lines += feed
        }
        return lines + self.end + block.label + self.dashes + feed
    }

    private static func isLineBreak(_ byte: UInt8) -> Bool { byte == UInt8(ascii: "\n") || byte == UInt8(ascii: "\r") }

    /// White space, quotes, and the backslash at the end of a line in a shell.
    private static func isFiller(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: " "), UInt8(ascii: "\t"), UInt8(ascii: "\n"), UInt8(ascii: "\r"), UInt8(ascii: "\""),
            UInt8(ascii: "'"), UInt8(ascii: "\\"):
            true
        default: false
        }
    }
}

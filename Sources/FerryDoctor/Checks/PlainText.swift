/// The description of the first bytes from a peer that does not speak TLS.
enum PlainText {
    /// The largest length of a quotation, in bytes.
    private static let quotedLength = 40

    private static let beginnings: [(String, String)] = [
        ("HTTP/", "an HTTP server"), ("SSH-", "an SSH server"), ("220", "a mail or FTP server"),
        ("* OK", "an IMAP server"), ("+OK", "a POP3 server"), ("-ERR", "a Redis server"),
    ]

    static func description(_ bytes: [UInt8]) -> String {
        let text = String(decoding: bytes, as: UTF8.self)
        if let (_, kind) = self.beginnings.first(where: { text.hasPrefix($0.0) }) {
            return "it looks like \(kind) (\(self.quoted(bytes)))"
        }
        // An error response of the binary protocol is 6 bytes: command 8, status, identifier. A server of HTTP/2 begins
        // with a SETTINGS frame: type 4 in byte 3, on stream 0.
        if bytes.count == 6, bytes[0] == 8 { return "it looks like a gateway of the binary protocol without TLS" }
        if bytes.count >= 9, bytes[0] == 0, bytes[3] == 4, bytes[5...8].allSatisfy({ $0 == 0 }) {
            return "it looks like an HTTP/2 server without TLS"
        }
        let isText = bytes.allSatisfy { $0 >= 0x20 && $0 < 0x7F || [0x09, 0x0A, 0x0D].contains($0) }
        guard isText else {
            let hex = bytes.prefix(8).map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }
            return "its first bytes are \(hex.joined(separator: " "))"
        }
        return "it says \(self.quoted(bytes))"
    }

    /// Returns the first line in quotes, with a dot for each character that is not printable.
    private static func quoted(_ bytes: [UInt8]) -> String {
        let line = bytes.prefix { $0 != 0x0A && $0 != 0x0D }.prefix(self.quotedLength)
        return "\"\(String(decoding: line.map { $0 >= 0x20 && $0 < 0x7F ? $0 : UInt8(ascii: ".") }, as: UTF8.self))\""
    }
}

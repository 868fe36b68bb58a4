import FerryCore
import Testing

@Suite struct JSONTextTests {
    @Test(arguments: [
        ("", ""), ("plain é 💣", "plain é 💣"), (#"\"\\\/\b\f\n\r\t"#, "\"\\/\u{8}\u{c}\n\r\t"),
        (#"\u00e9\u20AC"#, "é€"), (#"a\ud83d\udca3b"#, "a💣b"), (#"\u0000"#, "\0"), (#"\\u0041"#, #"\u0041"#),
        (#"tail\n"#, "tail\n"), (#"\uDBFF\uDFFF"#, "\u{10ffff}"),
    ])
    func `Escapes are resolved`(json: String, expected: String) throws {
        let (decoded, isPlain) = try Self.with(json) { text, bytes in (try text.decoded(in: bytes), text.isPlain) }
        #expect(decoded == expected)
        #expect(isPlain == !json.contains("\\"))
    }

    @Test(arguments: [
        (#"\ud800"#, 1), (#"ab\udc00"#, 3), (#"\ud800\ud800"#, 1), (#"\ud800x"#, 1), (#"\ud800\n"#, 1),
        (#"\ud800\u0041"#, 1), (#"\ud83d\udca3\udca3"#, 13),
    ])
    func `Half a surrogate pair is no string`(json: String, offset: Int) {
        #expect(throws: JSONFault(.loneSurrogate, at: offset)) {
            try Self.with(json) { text, bytes in try text.decoded(in: bytes) }
        }
    }

    @Test(arguments: [
        ("token", true), (#"tok\u0065n"#, true), ("toke", false), ("tokens", false), ("Token", false), ("", false),
        (#"token\n"#, false), (#"\ud800"#, false),
    ])
    func `A name is compared with its escapes resolved`(json: String, isToken: Bool) throws {
        let equal = try Self.with(json) { text, bytes in text.equals("token", in: bytes) }
        #expect(equal == isToken)
    }

    @Test func `The raw bytes are what stands between the quotes`() throws {
        let raw = try Self.with(#"a\n"#) { text, bytes in String(decoding: text.bytes(in: bytes), as: UTF8.self) }
        #expect(raw == #"a\n"#)
    }

    private static func with<R>(
        _ contents: String,
        _ body: (JSONText, UnsafeBufferPointer<UInt8>) throws -> R
    ) throws -> R {
        var json = "\"\(contents)\""
        return try json.withUTF8 { bytes in
            var scanner = JSONScanner(bytes)
            return try body(try scanner.skipString(), bytes)
        }
    }
}

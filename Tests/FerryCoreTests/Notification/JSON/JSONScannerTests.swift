import FerryCore
import Testing

@Suite struct JSONScannerTests {
    @Test(arguments: [
        "{}", " \t\r\n{ } ", #"{"":""}"#, #"{"a":1,"a":2}"#, #"{"a":{"b":[{},[],[{}]]}}"#,
        #"["\"\\\/\b\f\n\r\t\u00e9\uD83D\uDCA3"]"#, #""\ud800""#, "[0,-0,1,-1,10,0.5,-0.50,1e1,1E+1,1e-10,0e0,1.5e300]",
        "true", "false", "null", "[true,false,null]", #""~€𝄞\#u{7f}\#u{2028}\#u{ffff}\#u{10ffff}""#, "1e999", "[1 , 2]",
    ])
    func `Every form of RFC 8259 is taken`(json: String) {
        #expect(Self.fault(json) == nil)
    }

    @Test(
        arguments: [
            ("", .endsEarly, 0), ("  ", .endsEarly, 2), ("{", .endsEarly, 1), (#"{"a"#, .endsEarly, 3),
            (#"{"a":"#, .endsEarly, 5), (#"{"a":1"#, .endsEarly, 6), ("[1,", .endsEarly, 3), (#""\"#, .endsEarly, 2),
            (#""\u12"#, .endsEarly, 5), ("tru", .endsEarly, 3), ("-", .endsEarly, 1), ("1.", .endsEarly, 2),
            ("[1,]", .trailingComma, 3), ("[,1]", .expectedValue, 1), ("{'a':1}", .expectedKey, 1),
            (#"{"a":1,}"#, .trailingComma, 7), ("{1:1}", .expectedKey, 1), (#"{"a" 1}"#, .expectedColon, 5),
            ("[1 2]", .expectedComma, 3), (#"{"a":1 "b":2}"#, .expectedComma, 7), ("[1}", .expectedComma, 2),
            (#"{"a":[1}"#, .expectedComma, 7), ("{} x", .trailingBytes, 3), ("{}{}", .trailingBytes, 2),
            ("01", .badNumber, 1), ("-01", .badNumber, 2), ("1.x", .badNumber, 2), (".5", .expectedValue, 0),
            ("+1", .expectedValue, 0), ("1e+ ", .badNumber, 3), ("0x10", .trailingBytes, 1), ("NaN", .expectedValue, 0),
            ("-Infinity", .badNumber, 1), ("trUe", .badLiteral, 2), ("nulL", .badLiteral, 3),
            ("truefalse", .trailingBytes, 4),
            (#""\x""#, .badEscape, 2), (#""\u12g4""#, .badEscape, 5), (#""\u123""#, .badEscape, 6),
            ("\"a\nb\"", .controlCharacter, 2), ("\"\u{0}\"", .controlCharacter, 1), ("\"\t\"", .controlCharacter, 1),
            ("\u{feff}{}", .expectedValue, 0), ("{/* */}", .expectedKey, 1), ("\u{a0}{}", .expectedValue, 0),
            ("\u{b}{}", .expectedValue, 0),
        ] as [(String, JSONFault.Reason, Int)]
    )
    func `Anything else is refused, at its offset`(json: String, reason: JSONFault.Reason, offset: Int) {
        #expect(Self.fault(json) == JSONFault(reason, at: offset))
    }

    @Test(
        arguments: [
            [0x80], [0xbf], [0xc0, 0x80], [0xc1, 0xbf], [0xc2], [0xc2, 0x20], [0xe0, 0x9f, 0xbf], [0xe2, 0x82],
            [0xed, 0xa0, 0x80], [0xed, 0xbf, 0xbf], [0xf0, 0x8f, 0xbf, 0xbf], [0xf4, 0x90, 0x80, 0x80],
            [0xf5, 0x80, 0x80, 0x80],
            [0xf0, 0x9f, 0x92], [0xfe], [0xff], [0xe2, 0x28, 0xa1], [0xf0, 0x9f, 0x28, 0xa3],
        ] as [[UInt8]]
    )
    func `Malformed UTF-8 is refused wherever it stands in a string`(bytes: [UInt8]) {
        for padding in 0..<17 {
            let text = [UInt8(ascii: "\"")] + [UInt8](repeating: UInt8(ascii: "a"), count: padding) + bytes
            #expect(Self.fault(text + [UInt8(ascii: "\"")]) == JSONFault(.badUTF8, at: padding + 1))
            #expect(Self.fault(text) != nil)
        }
    }

    @Test func `Whether a byte is special does not depend on where it stands among its neighbours`() {
        for byte in UInt8.min...UInt8.max {
            for position in 0..<16 {
                for filler in [0x20, 0x21, 0x23, 0x5b, 0x5d, 0x7f] as [UInt8] {
                    var text = [UInt8](repeating: filler, count: 18)
                    (text[0], text[17], text[position + 1]) = (UInt8(ascii: "\""), UInt8(ascii: "\""), byte)
                    let isPlain = 0x20..<0x80 ~= byte && byte != UInt8(ascii: "\"") && byte != UInt8(ascii: "\\")
                    #expect((Self.fault(text) == nil) == isPlain)
                }
            }
        }
    }

    @Test func `Brackets may be open 512 deep, and not once more`() {
        func nested(_ depth: Int, _ open: String, _ close: String) -> String {
            String(repeating: open, count: depth) + "1" + String(repeating: close, count: depth)
        }
        #expect(Self.fault(nested(512, "[", "]")) == nil)
        #expect(Self.fault(nested(512, #"{"a":"#, "}")) == nil)
        #expect(Self.fault(nested(256, #"[{"a":"#, "}]")) == nil)
        #expect(Self.fault(nested(513, "[", "]")) == JSONFault(.tooDeep, at: 512))
        #expect(Self.fault(String(repeating: "[", count: 1_000_000)) == JSONFault(.tooDeep, at: 512))
        #expect(Self.fault(nested(257, #"[{"a":"#, "}]"))?.reason == .tooDeep)
    }

    @Test(arguments: [("{}", true), (" {\"a\":1}\n", true), ("[]", false), ("1", false), ("", false), ("{}{}", false)])
    func `Only one object is an object`(json: String, isObject: Bool) {
        var json = json
        #expect(json.withUTF8(JSONScanner.isObject) == isObject)
    }

    @Test func `No cut of a text is taken for the whole, and none is read past its end`() {
        let json = Array(#"{"aps":{"alert":"é\n\u00e9 €","n":[-1.5e+3,true,false,null]}}"#.utf8)
        for count in 0..<json.count {
            #expect(Self.fault(Array(json.prefix(count))) != nil)
        }
    }

    static func fault(_ json: String) -> JSONFault? { self.fault(Array(json.utf8)) }

    static func fault(_ json: [UInt8]) -> JSONFault? {
        json.withUnsafeBufferPointer { JSONScanner.fault(in: $0) }
    }
}

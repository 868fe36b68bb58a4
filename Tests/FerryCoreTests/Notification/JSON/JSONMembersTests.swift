import FerryCore
import Testing

@Suite struct JSONMembersTests {
    @Test func `Members come in the order of the text, with kind and bytes`() throws {
        let json = #" { "s" : "x" , "n":-1.5,"o":{"a":[1,{}]},"a":[ 1 ], "t":true,"f":false,"z":null } "#
        #expect(
            try Self.members(json) == [
                "s string \"x\"", "n number -1.5", "o object {\"a\":[1,{}]}", "a array [ 1 ]", "t bool true",
                "f bool false", "z null null",
            ]
        )
    }

    @Test func `An object without members has none`() throws {
        #expect(try Self.members("{}") == [])
        #expect(try Self.members(" { } ") == [])
    }

    @Test func `A name that occurs twice is given twice`() throws {
        #expect(try Self.members(#"{"a":1,"a":2,"\u0061":3}"#) == ["a number 1", "a number 2", "a number 3"])
    }

    @Test(
        arguments: [
            ("[]", .notAnObject, 0), ("", .notAnObject, 0), (#"{"a":1"#, .endsEarly, 6),
            (#"{"a":1,}"#, .trailingComma, 7),
            (#"{"a":1}x"#, .trailingBytes, 7), (#"{"a":[1,]}"#, .trailingComma, 8), ("{}}", .trailingBytes, 2),
            (#"{,"a":1}"#, .expectedKey, 1), (#"{"a":1;"b":2}"#, .expectedComma, 6),
        ] as [(String, JSONFault.Reason, Int)]
    )
    func `A walk ends with the fault of the text`(json: String, reason: JSONFault.Reason, offset: Int) {
        #expect(throws: JSONFault(reason, at: offset)) { try Self.members(json) }
    }

    @Test func `After a fault there are no more members`() {
        let json = Array(#"{"a":x,"b":1}"#.utf8)
        json.withUnsafeBufferPointer { bytes in
            var members = JSONMembers(bytes)
            #expect(throws: JSONFault(.expectedValue, at: 5)) { try members.next() }
            #expect(throws: Never.self) { try members.next() }
        }
    }

    @Test(
        arguments: [
            ("0", 0), ("-0", 0), ("-1", -1), ("9223372036854775807", .max), ("-9223372036854775808", .min),
            ("9223372036854775808", nil), ("-9223372036854775809", nil), ("99999999999999999999", nil),
            ("1.0", nil), ("1e3", nil), ("\"1\"", nil), ("true", nil), ("null", nil), ("[1]", nil),
        ] as [(String, Int64?)]
    )
    func `A whole number that fits is read, nothing else`(json: String, expected: Int64?) throws {
        let value = try Self.withValue(of: json) { $0.integer(in: $1) }
        #expect(value == expected)
    }

    @Test func `True and false are read, nothing else`() throws {
        #expect(try Self.withValue(of: "true") { $0.bool(in: $1) } == true)
        #expect(try Self.withValue(of: "false") { $0.bool(in: $1) } == false)
        #expect(try Self.withValue(of: "null") { $0.bool(in: $1) } == nil)
    }

    @Test func `A nested object is walked by its bytes`() throws {
        let inner = try Self.withValue(of: #"{"alert":"hi","badge":1}"#) { value, text in
            String(decoding: value.bytes(in: text), as: UTF8.self)
        }
        #expect(try Self.members(#require(inner)) == ["alert string \"hi\"", "badge number 1"])
    }

    private static func members(_ json: String) throws -> [String] {
        var json = json
        return try json.withUTF8 { text in
            var result: [String] = []
            var members = JSONMembers(text)
            while let member = try members.next() {
                let value = String(decoding: member.value.bytes(in: text), as: UTF8.self)
                result.append("\(try member.key.decoded(in: text)) \(member.value.kind) \(value)")
            }
            return result
        }
    }

    private static func withValue<R>(
        of json: String,
        _ body: (JSONValue, UnsafeBufferPointer<UInt8>) throws -> R?
    ) throws -> R? {
        var json = #"{"k":\#(json)}"#
        return try json.withUTF8 { text in
            var members = JSONMembers(text)
            return try members.next().flatMap { try body($0.value, text) }
        }
    }
}

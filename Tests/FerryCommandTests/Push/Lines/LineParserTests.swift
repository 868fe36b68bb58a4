import FerryCore
import Testing

@testable import FerryCommand

@Suite struct LineParserTests {
    /// A copy of a parsed line.
    struct Copy: Equatable {
        var hex: String
        var token: [UInt8]
        var payload: String
        var topic: String
        var collapseID: String
        var apnsID: String?
        var pushType: PushType?
        var priority: Priority?
        var expiration: UInt32?
        var ref: String?
    }

    static func parse(_ line: String, with parser: LineParser = LineParser()) throws -> Copy {
        var line = line
        return try line.withUTF8 { bytes in
            let parsed = try parser.parse(bytes)
            return Copy(
                hex: String(decoding: parsed.hex, as: UTF8.self),
                token: Array(parsed.token),
                payload: String(decoding: parsed.payload, as: UTF8.self),
                topic: String(decoding: parsed.topic, as: UTF8.self),
                collapseID: String(decoding: parsed.collapseID, as: UTF8.self),
                apnsID: parsed.apnsID?.description,
                pushType: parsed.pushType,
                priority: parsed.priority,
                expiration: parsed.expiration?.epochSeconds,
                ref: parsed.ref.map { String(decoding: $0, as: UTF8.self) }
            )
        }
    }

    static func faults(_ line: String) -> [String] {
        do {
            _ = try self.parse(line)
            return []
        } catch {
            return (error as? LineFaults)?.messages ?? ["\(error)"]
        }
    }

    @Test func `a line with every member says everything`() throws {
        let line = #"""
             {"ref": {"a":[1, "x"]}, "token":"00FFab", "payload": {"aps": {"alert":"Hä\u0020"}} ,"topic":"com.example",
            """#
            .trimming("\n")
            + #" "pushType":"background","priority":5,"expiration":4294967295,"collapseId":"c d","#
            + #""apnsId":"01234567-89AB-cdef-0123-456789abcdef"} "#
        let parsed = try Self.parse(line)
        #expect(
            parsed
                == Copy(
                    hex: "00FFab",
                    token: [0, 255, 0xab],
                    payload: #"{"aps": {"alert":"Hä\u0020"}}"#,
                    topic: "com.example",
                    collapseID: "c d",
                    apnsID: "01234567-89ab-cdef-0123-456789abcdef",
                    pushType: .background,
                    priority: .powerAware,
                    expiration: .max,
                    ref: #"{"a":[1, "x"]}"#
                )
        )
    }

    @Test func `what a line leaves out or sets to null has its default`() throws {
        let parser = LineParser(topic: "com.default")
        for line in [
            #"{"token":"aa","payload":{}}"#,
            #"{"token":"aa","payload":{},"topic":null,"pushType":null,"priority":null,"expiration":null,"#
                + #""collapseId":null,"apnsId":null}"#,
        ] {
            let parsed = try Self.parse(line, with: parser)
            #expect(
                parsed == Copy(hex: "aa", token: [0xaa], payload: "{}", topic: "com.default", collapseID: "")
            )
        }
        #expect(try Self.parse(#"{"token":"aa","payload":{},"topic":"com.own"}"#, with: parser).topic == "com.own")
        #expect(try Self.parse(#"{"token":"aa","payload":{},"ref":null}"#).ref == "null")
    }

    @Test func `escapes in names and strings are resolved, and forgotten with the next line`() throws {
        let parser = LineParser()
        for _ in 0..<3 {
            let parsed = try Self.parse(
                #"{"tok\u0065n":"\u0061a","payload":{"x":"\n"},"collapseId":"\u00e4\"","topic":"com\u002eexample"}"#,
                with: parser
            )
            #expect(parsed.token == [0xaa])
            #expect(parsed.hex == "aa")
            #expect(parsed.payload == #"{"x":"\n"}"#)
            #expect(parsed.collapseID == "ä\"")
            #expect(parsed.topic == "com.example")
        }
    }

    @Test(arguments: [
        (#"{"payload":{}}"#, "there is no 'token'"),
        (#"{"token":"aa"}"#, "there is no 'payload'"),
        (#"{"token":7,"payload":{}}"#, "'token' is not a string"),
        (#"{"token":null,"payload":{}}"#, "'token' is not a string"),
        (#"{"token":"","payload":{}}"#, "the device token is empty"),
        (#"{"token":"abc","payload":{}}"#, "the device token has an odd number of hex digits: 3"),
        (#"{"token":"ag","payload":{}}"#, "a device token has only hex digits"),
        (#"{"token":"aa","payload":[]}"#, "'payload' is not a JSON object"),
        (#"{"token":"aa","payload":"{}"}"#, "'payload' is not a JSON object: write it without quotes around it"),
        (#"{"token":"aa","aps":{}}"#, #"there is no 'payload'; 'aps' stands in it: "payload":{"aps":{…}}"#),
        (#"{"token":"aa","payload":{},"topic":7}"#, "'topic' is not a string"),
        (#"{"token":"aa","payload":{},"topic":"a b"}"#, "the topic is not 1 to 255 visible ASCII characters"),
        (#"{"token":"aa","payload":{},"priority":7}"#, "the priority 7 is none of 10, 5 and 1"),
        (#"{"token":"aa","payload":{},"priority":-10}"#, "the priority -10 is none of 10, 5 and 1"),
        (#"{"token":"aa","payload":{},"priority":"10"}"#, "'priority' is not a whole number"),
        (#"{"token":"aa","payload":{},"expiration":1.5}"#, "'expiration' is not a whole number"),
        (
            #"{"token":"aa","payload":{},"expiration":4294967296}"#,
            "the expiration 4294967296 is not within 0…4294967295 seconds since 1970"
        ),
        (#"{"token":"aa","payload":{},"pushType":"loud"}"#, "there is no such push type"),
        (#"{"token":"aa","payload":{},"collapseId":""}"#, "the collapse id has 0 bytes; it must have 1 to 64"),
        (#"{"token":"aa","payload":{},"apnsId":"7"}"#, "the apns-id is not a UUID of the form 8-4-4-4-12"),
        (#"{"token":"aa","payload":{},"token":"bb"}"#, "'token' stands there twice"),
        (#"{"token":"aa","payload":{}"#, "not a line of JSON: the text ends too early at byte 26"),
        (#"[]"#, "not a line of JSON: no JSON object at byte 0"),
        (#"{"token":"aa","payload":{}} x"#, "not a line of JSON: bytes after the value at byte 28"),
    ])
    func `a bad line says what is wrong`(line: String, fault: String) {
        #expect(Self.faults(line) == [fault])
    }

    @Test func `a line says everything that is wrong with it`() {
        #expect(
            Self.faults(#"{"token":"xyz","payload":1,"priority":2}"#) == [
                "the device token has an odd number of characters: 3", "a device token has only hex digits",
                "'payload' is not a JSON object", "the priority 2 is none of 10, 5 and 1",
            ]
        )
    }

    @Test func `lengths are held to their limits`() {
        func line(token: Int, payload: Int) -> String {
            let filling = String(repeating: "x", count: payload - 8)
            return #"{"token":"\#(String(repeating: "ab", count: token))","payload":{"a":"\#(filling)"}}"#
        }
        #expect(Self.faults(line(token: 100, payload: 5120)) == [])
        #expect(
            Self.faults(line(token: 101, payload: 5121)) == [
                "the device token has 101 bytes; the limit is 100",
                "the payload has 5121 bytes; the limit is 5120",
            ]
        )
    }

    @Test func `an unknown member is told once`() throws {
        let parser = LineParser()
        _ = try Self.parse(#"{"token":"aa","payload":{},"tokens":1,"x":2}"#, with: parser)
        #expect(parser.takeUnknownMembers().map(\.quoted) == [#""tokens""#, #""x""#])
        _ = try Self.parse(#"{"token":"aa","payload":{},"x":1,"y":2}"#, with: parser)
        #expect(parser.takeUnknownMembers().map(\.quoted) == [#""y""#])
    }

    @Test(arguments: [
        ("push_type", "do you mean pushType?"), ("apns-push-type", "do you mean pushType?"),
        ("ttl", "do you mean expiration, in seconds since 1970?"), ("apns-expiration", "do you mean expiration?"),
        ("device_token", "do you mean token?"), ("deviceToken", "do you mean token?"), ("Topic", "do you mean topic?"),
        ("collapse_id", "do you mean collapseId?"), ("apns-collapse-id", "do you mean collapseId?"),
        ("apns_id", "do you mean apnsId?"), ("bundle_id", "do you mean topic?"), ("colour", nil), ("", nil),
    ])
    func `the known member that an unknown one means is named`(name: String, meant: String?) {
        #expect(UnknownMember(name).meant == meant)
    }
}

extension String {
    fileprivate func trimming(_ end: Character) -> String {
        self.last == end ? String(self.dropLast()) : self
    }
}

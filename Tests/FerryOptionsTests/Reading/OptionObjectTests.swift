import FerryCore
import Testing

@testable import FerryOptions

@Suite struct OptionObjectTests {
    private static func object(_ json: String, of language: OptionLanguage = .c) throws -> OptionObject {
        try OptionObject(json.utf8, of: language)
    }

    private static func sentence(_ body: () throws -> Void) -> String? {
        do {
            try body()
            return nil
        } catch {
            return (error as? OptionFault)?.sentence
        }
    }

    @Test func `options are taken by their names in the table`() throws {
        var object = try Self.object(
            #"{"port":7,"pingInterval":1.5,"production":false,"p8":"k","onUnknown":"report","topic":null}"#
        )
        #expect(try object.take("port")?.count == 7)
        #expect(try object.take("pingInterval")?.time == .seconds(1.5))
        #expect(try object.take("production")?.isOn == false)
        #expect(try object.take("p8") == .text("k"))
        #expect(try object.take("onUnknown") == .text("report"))
        #expect(try object.take("topic") == nil)
        #expect(try object.take("ca") == nil)
        try object.end()
    }

    @Test func `an option that a language does not have is not taken there`() throws {
        var object = try Self.object(#"{"attemptTimeout":1}"#, of: .gateway)
        #expect(try object.take("attemptTimeout") == nil)
        #expect(Self.sentence { try object.end() } == "There is no option 'attemptTimeout' here.")
    }

    @Test(
        arguments: [
            ("port", #""7""#, "a whole number, 1 to 65535"), ("port", "0", "a whole number, 1 to 65535"),
            ("port", "1.5", "a whole number, 1 to 65535"), ("port", "1e999", "a whole number, 1 to 65535"),
            ("production", "1", "true or false"), ("topic", "[]", "a string"),
            ("deadline", "-1", "seconds, 0 to 1000000"), ("onUnknown", #""maybe""#, #"one of "resend", "report""#),
            ("share", "101", "a number, 0 to 100"),
        ]
    )
    func `a wrong type and a range have the same words`(name: String, value: String, wanted: String) throws {
        var object = try Self.object(#"{"\#(name)":\#(value)}"#)
        #expect(Self.sentence { _ = try object.take(name) } == "The option '\(name)' takes \(wanted).")
    }

    @Test func `a misspelt name is told before what is missing because of it`() throws {
        var object = try Self.object(#"{"pat":"a"}"#)
        #expect(object.require("path", try object.take("path", .file)?.text, or: "") == "")
        #expect(Self.sentence { try object.end() } == "There is no option 'pat' here; is path meant?")
        object.remove(["pat"])
        #expect(Self.sentence { try object.end() } == "The option 'path' is missing.")
    }

    @Test func `objects and lists inside have their place in a message`() throws {
        var object = try Self.object(#"{"clients":[{"a":1},{"b":2}],"names":["a",1]}"#)
        let clients = try object.objects("clients") ?? []
        var second = clients[1]
        #expect(Self.sentence { try second.end() } == "There is no option 'clients[1].b' here.")
        #expect(Self.sentence { _ = try second.take("b", .flag) } == "The option 'clients[1].b' takes true or false.")
        #expect(Self.sentence { _ = try object.take("names", .texts) } == "The option 'names[1]' takes a string.")
    }

    @Test func `a name twice is an error, and its place is told without a secret`() {
        for (json, place) in [
            (#"{"a":1,"a":2}"#, "'a'"), (#"{"p8":1,"p8":2}"#, "'p8'"), (#"{"x":[{"y":{"z":1,"z":1}}]}"#, "'x[0].y.z'"),
            (#"{"geheim7":{"z":1,"z":1}}"#, "'….z'"), (#"{"geheim7":1,"geheim7":1}"#, "with a name of 7 bytes"),
        ] {
            #expect(Self.sentence { _ = try Self.object(json) } == "The option \(place) stands there twice.")
        }
    }

    @Test func `equal options have one text, whatever their order and form`() throws {
        let one = try Self.object(#"{"b":{"y":1,"x":"a"},"a":[true,null],"left":1}"#)
        let other = try Self.object(#"{ "a" : [ true , null ], "b" : {"x":"\u0061","y":1.0} }"#)
        #expect(one.text(without: ["left"]) == other.text(without: []))
        #expect(one.text(without: []) != other.text(without: []))
    }

    @Test func `a fault of a file names the file`() throws {
        var object = try OptionObject(#"{"port":0}"#.utf8, of: .c, file: FileName("ferry.json"))
        #expect(
            Self.sentence { _ = try object.take("port") }
                == "In ferry.json: The option 'port' takes a whole number, 1 to 65535."
        )
    }
}

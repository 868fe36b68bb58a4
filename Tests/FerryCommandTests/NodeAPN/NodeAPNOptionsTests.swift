import Ferry
import FerryBinary
import FerryOptions
import FerryTerminal
import Foundation
import Testing

@testable import FerryCommand

@Suite struct NodeAPNOptionsTests {
    private static func object(_ json: String) throws -> [String: OptionValue] {
        try OptionValue.members(of: json.utf8)
    }

    private static func read(
        _ json: String,
        for use: NodeAPNOption.Use = .push,
        commandLine: Set<String> = []
    ) throws -> NodeAPNOptions {
        NodeAPNOptions(try Self.object(json), for: use, commandLine: commandLine)
    }

    private static func changed(_ change: (inout NodeAPNSettings) -> Void) -> NodeAPNSettings {
        var settings = NodeAPNSettings()
        change(&settings)
        return settings
    }

    private static let pem = "-----BEGIN CERTIFICATE-----\\nTUlJ\\n-----END CERTIFICATE-----\\n"
    private static let pemBytes = Array(pem.replacing("\\n", with: "\n").utf8)

    /// The members of an object, the settings that they make, and the remarks.
    private static let cases: [(String, NodeAPNSettings, [String])] = [
        (#""cert":"c.pem""#, changed { $0.certificate = .file("c.pem") }, ["cert: as --cert c.pem"]),
        (
            #""certData":"\#(pem)""#, changed { $0.certificate = .bytes(pemBytes) },
            ["certData: as --cert with what stands here"]
        ),
        (
            #""cert":"c.pem","certData":"d.pem","key":"k.pem","keyData":"l.pem""#,
            changed {
                $0.certificate = .file("c.pem")
                $0.key = .file("k.pem")
            },
            [
                "cert: as --cert c.pem", "certData: not used, cert comes first", "key: as --key k.pem",
                "keyData: not used, key comes first",
            ]
        ),
        (
            #""pfx":{"type":"Buffer","data":[0,255]},"pfxData":"p","cert":"c","key":"k","passphrase":"geheim""#,
            changed {
                $0.archive = .bytes([0, 255])
                $0.passphrase = "geheim"
            },
            [
                "pfx: as --p12 with what stands here", "pfxData: not used, pfx comes first",
                "cert: not used, pfx comes first", "key: not used, pfx comes first",
                "passphrase: as the first line of --passphrase-file",
            ]
        ),
        (#""pfxData":"p.p12""#, changed { $0.archive = .file("p.p12") }, ["pfxData: as --p12 p.p12"]),
        (#""ca":"a.pem""#, changed { $0.authorities = [.file("a.pem")] }, ["ca: as --ca a.pem"]),
        (
            #""ca":["a.pem","\#(pem)"]"#, changed { $0.authorities = [.file("a.pem"), .bytes(pemBytes)] },
            ["ca: as --ca a.pem, with what stands here"]
        ),
        (#""production":true"#, changed { $0.production = true }, ["production true: as --production"]),
        (#""production":false"#, changed { $0.production = false }, ["production false: as --sandbox"]),
        (
            #""gateway":"g","address":"a","port":1,"production":true"#,
            changed {
                $0.host = "g"
                $0.options["port"] = .number(1)
            },
            [
                #"gateway "g": the host of --to"#, #"address "a": not used, gateway comes first"#,
                "port 1: the port of --to", "production true: not used, the address says where to connect",
            ]
        ),
        (#""address":"::1""#, changed { $0.host = "::1" }, [#"address "::1": the host of --to"#]),
        (
            #""rejectUnauthorized":false"#, changed { $0.rejectUnauthorized = false },
            [
                """
                rejectUnauthorized false: warning: anyone may answer as the server; use --ca instead, except in a test
                """
            ]
        ),
        (
            #""legacy":true"#, changed { $0.options["command"] = .text("enhanced") },
            ["legacy true: notifications go out with command 1, without a priority"]
        ),
        (
            #""enhanced":false,"legacy":true"#, changed { $0.options["command"] = .text("simple") },
            [
                "legacy true: notifications go out with command 1, without a priority",
                "enhanced false: with legacy, command 0: no error response names a notification",
            ]
        ),
        (#""enhanced":false"#, NodeAPNSettings(), ["enhanced false: no meaning without legacy"]),
        (
            #""voip":true"#, changed { $0.options["payloadLimit"] = .number(4096) },
            ["voip true: payloads may have 4096 bytes"]
        ),
        (
            #""voip":false"#, changed { $0.options["payloadLimit"] = .number(2048) },
            ["voip false: payloads may have 2048 bytes"]
        ),
        (
            #""cacheLength":0"#, changed { $0.options["cacheLength"] = .number(1) },
            ["cacheLength 0: as --cache-length 1, which counts with --no-auto-adjust or --cache-policy evict"]
        ),
        (
            #""autoAdjustCache":false"#, changed { $0.options["autoAdjustCache"] = .boolean(false) },
            ["autoAdjustCache false: as --no-auto-adjust"]
        ),
        (
            #""autoAdjustCache":true"#, changed { $0.options["autoAdjustCache"] = .boolean(true) },
            ["autoAdjustCache true: as --auto-adjust"]
        ),
        (
            #""buffersNotifications":false"#, changed { $0.options["buffersNotifications"] = .boolean(false) },
            [
                """
                buffersNotifications false: what the gateway discards behind an error is not sent again and ends as \
                undelivered or uncertain
                """
            ]
        ),
        (
            #""maxConnections":-3"#, changed { $0.options["maxConnections"] = .number(1) },
            ["maxConnections -3: as --connections 1"]
        ),
        (
            #""maxConnections":5"#, changed { $0.options["maxConnections"] = .number(5) },
            ["maxConnections 5: as --connections 5"]
        ),
        (
            #""connectTimeout":2500"#, changed { $0.options["connectTimeout"] = .number(2.5) },
            ["connectTimeout 2500: as --connect-timeout 2.5"]
        ),
        (
            #""connectTimeout":0"#, changed { $0.options["connectTimeout"] = .number(127) },
            ["connectTimeout 0: no limit there, 127 seconds here"]
        ),
        (
            #""connectionTimeout":60000"#, changed { $0.options["idleTimeout"] = .number(60) },
            ["connectionTimeout 60000: an idle connection is closed after 60 seconds"]
        ),
        (
            #""connectionTimeout":0"#, changed { $0.options["idleTimeout"] = .null },
            ["connectionTimeout 0: an idle connection is never closed"]
        ),
        (
            #""connectionRetryLimit":0"#, changed { $0.options["connectionRetryLimit"] = .null },
            ["connectionRetryLimit 0: as --connection-retry-limit 0"]
        ),
        (#""interval":60"#, NodeAPNSettings(), ["interval 60: of feedback: see ferry feedback --every 60"]),
        (#""interval":0"#, NodeAPNSettings(), ["interval 0: of feedback: see ferry feedback, which reads once"]),
        (
            #""cert":null,"port":null"#, NodeAPNSettings(),
            ["cert null: as if it were not there", "port null: as if it were not there"]
        ),
        ("", NodeAPNSettings(), []),
    ]

    @Test func `each option changes what the table says, and says so`() throws {
        for (object, settings, remarks) in Self.cases {
            let options = try Self.read("{\(object)}")
            #expect(options.settings == settings, "\(object)")
            #expect(options.remarks == remarks, "\(object)")
            #expect(options.faults == [], "\(object)")
        }
    }

    @Test func `what has no meaning here changes nothing, whatever its value, and says why`() throws {
        let names = NodeAPNOption.all.filter { if case .nothing = $0.effect { true } else { false } }.map(\.name)
        #expect(Set(names).isSuperset(of: ["fastMode", "minConnections", "disableNagle", "disableEPIPEFix"]))
        for name in names {
            for value in ["true", "12", #""text""#, "[{}]"] {
                let options = try Self.read(#"{"\#(name)":\#(value)}"#)
                #expect(options.settings == NodeAPNSettings())
                #expect(options.remarks.count == 1)
                #expect(options.remarks.first?.hasPrefix(name) == true)
                #expect(!options.remarks.contains { $0.contains("text") && !name.contains("text") })
                #expect(options.faults == [])
            }
        }
    }

    @Test(
        arguments: [
            (#""production":"true""#, "production takes true or false, not a string"),
            (#""voip":1"#, "voip takes true or false, not 1"),
            (#""cacheLength":"many""#, #"cacheLength takes a whole number, 1 to 1073741824, not a string"#),
            (#""cacheLength":1.5"#, "cacheLength takes a whole number, 1 to 1073741824, not 1.5"),
            (#""cacheLength":1e99"#, "cacheLength takes a whole number, 1 to 1073741824, not 1e+99"),
            (#""maxConnections":1001"#, "maxConnections takes a whole number, 1 to 1000, not 1001"),
            (#""connectionRetryLimit":-1"#, "connectionRetryLimit takes a whole number, 0 to 1073741824, not -1"),
            (#""port":"2195""#, #"port takes a whole number, 1 to 65535, not a string"#),
            (#""port":0"#, "port takes a whole number, 1 to 65535, not 0"),
            (#""connectTimeout":-1"#, "connectTimeout takes milliseconds, 0 to 2147483647, not -1"),
            (#""connectionTimeout":true"#, "connectionTimeout takes milliseconds, 0 to 2147483647, not true"),
            (#""interval":[]"#, "interval takes seconds, 0 to 2147483, not an array"),
            (
                #""address":"localhost:2195""#,
                #"address takes the name or address of a host, without a port, which stands in 'port', not "localhost:2195""#
            ),
            (#""passphrase":1234"#, "passphrase takes a string, not a number"),
            (#""cert":7"#, "cert takes the name of a file, or PEM text, not a number"),
            (#""cert":"""#, "cert takes the name of a file, or PEM text, not a string"),
            (#""pfx":{"type":"Buffer","data":[256]}"#, "pfx takes the name of a file, or PEM text, not an object"),
            (#""ca":[]"#, "ca takes at least one file or PEM text, not an array"),
            (#""ca":["a.pem",1]"#, "ca takes the name of a file, or PEM text, not an array"),
            (#""key":"k.pem""#, "key needs cert"),
        ]
    )
    func `a value of no use is one sentence with the option's name`(object: String, fault: String) throws {
        let options = try Self.read("{\(object)}")
        #expect(options.faults == [fault])
    }

    @Test func `every fault is told, also where the command line counts`() throws {
        let options = try Self.read(
            #"{"port":0,"cacheLength":true,"voip":2}"#,
            commandLine: ["--to", "--cache-length"]
        )
        #expect(options.faults.count == 3)
    }

    @Test func `no secret is said, whatever is wrong with it`() throws {
        let secret = "geheim"
        let bare = String(repeating: "MIIgeheim", count: 20)
        let objects = [
            #"{"passphrase":"\#(secret)","cert":"c.pem"}"#, #"{"passphrase":["\#(secret)"]}"#,
            #"{"key":"-----BEGIN PRIVATE KEY-----\#(secret)","cert":"c.pem"}"#, #"{"key":"\#(bare)","cert":"c.pem"}"#,
            #"{"key":"line\n\#(secret)","cert":"c.pem"}"#, #"{"errorCallback":"\#(secret)"}"#,
            #"{"passfrase":"\#(secret)"}"#, #"{"production":"\#(secret)"}"#, #"{"key":"\#(secret)","cert":"c.pem"}"#,
            #"{"cert":"\#(secret)"}"#, #"{"pfx":"\#(secret)"}"#, #"{"ca":["\#(secret)"]}"#,
            #"{"\#(secret)7":1}"#, #"{"address":"\#(secret) und mehr"}"#, #"{"address":"\#(secret)/+=="}"#,
        ]
        for object in objects {
            let options = try Self.read(object)
            #expect(!(options.remarks + options.faults).contains { $0.contains(secret) }, "\(object)")
        }
    }

    @Test(
        arguments: [
            (#"{"port":1,"port":2}"#, "port"), (#"{"port":1,"p\u006frt":1}"#, "port"),
            (#"{"pfx":{"type":"Buffer","data":[1],"data":[2]}}"#, "pfx.data"), (#"{"ca":[{"a":1,"a":1}]}"#, "ca[0].a"),
            (#"{"unknown":null,"unknown":null}"#, "unknown"),
        ]
    )
    func `a name that stands twice in an object is an error`(json: String, name: String) {
        #expect(throws: OptionFault.twice("'\(name)'")) { try Self.object(json) }
    }

    @Test(
        arguments: [
            "", "[]", "7", "{", #"{"a":1,}"#, #"{"a":1} x"#, #"{a:1}"#, #"{"a":"\ud800"}"#, "\u{feff}\u{feff}{}",
            // The syntax fault is behind a duplicate name. The syntax fault counts, because the text is not an object.
            #"{"a":1,"a":2"#,
        ]
    )
    func `a text that is not one JSON object is refused`(json: String) {
        #expect {
            try Self.object(json)
        } throws: {
            ($0 as? OptionFault)?.sentence.hasPrefix("The options are not one JSON object") == true
        }
    }

    @Test func `every value of JSON is read, and a byte order mark is passed over`() throws {
        let json = "\u{feff} {\"a\": [null, true, -1.5e3, \"x\\n\", [], {}], \"b\" : { \"c\": [ 1 , 2 ] } } "
        #expect(
            try Self.object(json) == [
                "a": .list([.null, .boolean(true), .number(-1500), .text("x\n"), .list([]), .object([:])]),
                "b": .object(["c": .list([.number(1), .number(2)])]),
            ]
        )
    }

    @Test func `for feedback, what is of sending changes nothing, and interval is --every`() throws {
        let options = try Self.read(
            #"{"cert":"c.pem","address":"a","port":7,"cacheLength":5,"maxConnections":"two","interval":60,"feedback":1}"#,
            for: .feedback
        )
        #expect(
            options.settings
                == Self.changed {
                    $0.certificate = .file("c.pem")
                    $0.host = "a"
                    $0.options["port"] = .number(7)
                    $0.interval = .seconds(60)
                }
        )
        #expect(options.faults == [])
        #expect(options.remarks.contains("cacheLength 5: of sending: see ferry push"))
        #expect(options.remarks.contains("maxConnections: of sending: see ferry push"))
        #expect(options.remarks.contains("interval 60: as --every 60"))
        let once = try Self.read(#"{"interval":0}"#, for: .feedback, commandLine: ["--every"])
        #expect(once.remarks == ["interval 0: not used, --every of the command line counts"])
        #expect(once.settings.interval == nil)
    }

    @Test func `for the doctor, credentials and server count, and nothing else`() throws {
        let options = try Self.read(
            #"{"pfx":"p.p12","gateway":"g","port":7,"production":true,"rejectUnauthorized":false,"interval":60}"#,
            for: .doctor
        )
        #expect(options.settings.endpoint == Endpoint(host: "g", port: 7))
        #expect(options.remarks.contains(#"gateway "g": the host of HOST:PORT"#))
        #expect(
            options.remarks.contains("rejectUnauthorized false: the server's certificate is looked at in any case")
        )
        #expect(options.settings.rejectUnauthorized == nil)
        #expect(options.settings.interval == nil)
        let apple = try Self.read(#"{"production":false}"#, for: .doctor)
        #expect(apple.settings.endpoint == Endpoint(host: BinaryConfiguration.sandboxHost))
        #expect(try Self.read("{}", for: .doctor).settings.endpoint == nil)
    }

    @Test func `every use knows every option`() {
        for use in [NodeAPNOption.Use.push, .feedback, .doctor] {
            #expect(Set(NodeAPNOption.all(for: use).map(\.name)) == Set(NodeAPNOption.all.map(\.name)))
        }
    }

    @Test func `options of the command line count in place of the object's`() throws {
        let object = #"{"cert":"c","passphrase":"p","address":"a","port":1,"ca":"a","cacheLength":5,"voip":true}"#
        let options = try Self.read(object, commandLine: ["--p12", "--to", "--ca", "--cache-length"])
        #expect(options.settings == Self.changed { $0.options["payloadLimit"] = .number(4096) })
        #expect(options.remarks.contains("cert: not used, --p12 of the command line counts"))
        #expect(options.remarks.contains("passphrase: not used, --p12 of the command line counts"))
        #expect(options.remarks.contains("port 1: not used, --to of the command line counts"))
        #expect(options.remarks.contains("cacheLength 5: not used, --cache-length of the command line counts"))
    }

    @Test(
        arguments: [
            ("cacheLenght", #"warning: "cacheLenght" is no option of node-apn 1.x; is cacheLength meant?"#),
            ("CA", #"warning: "CA" is no option of node-apn 1.x; is ca meant?"#),
            ("maxConnection", #"warning: "maxConnection" is no option of node-apn 1.x; is maxConnections meant?"#),
            ("topic", #"warning: "topic" is no option of node-apn 1.x"#),
            (
                String(repeating: "x", count: 41),
                "warning: an option with a name of 41 bytes is not known"
            ),
        ]
    )
    func `an unknown name is warned about, with the name that may be meant`(name: String, remark: String) throws {
        let options = try Self.read(#"{"\#(name)":"geheim"}"#)
        #expect(options.remarks == [remark])
        #expect(options.faults == [])
        #expect(options.settings == NodeAPNSettings())
    }

    @Test func `each row of the table with a name in node-apn is an option there`() {
        let names = Set(NodeAPNOption.all.map(\.name))
        for name in ProviderOption.all.compactMap({ $0.name(in: .nodeAPN) }) {
            #expect(names.contains(name), "\(name)")
        }
    }

    @Test func `settings change the options that they name, and no other`() {
        var options = BinaryOptions()
        options.set { NodeAPNSettings().options[$0.name] }
        #expect(options == BinaryOptions())
        var settings = NodeAPNSettings()
        settings.options = [
            "command": .text("simple"), "payloadLimit": .number(4096), "cacheLength": .number(5),
            "autoAdjustCache": .boolean(false), "buffersNotifications": .boolean(false), "maxConnections": .number(7),
            "connectTimeout": .number(8), "idleTimeout": .number(9), "connectionRetryLimit": .number(10),
        ]
        options.set { settings.options[$0.name] }
        var expected = BinaryOptions()
        expected.command = .simple
        expected.payloadLimit = 4096
        expected.cacheLength = 5
        expected.autoAdjustCache = false
        expected.buffersNotifications = false
        expected.maxConnections = 7
        expected.connectTimeout = .seconds(8)
        expected.idleTimeout = .seconds(9)
        expected.connectionRetryLimit = 10
        #expect(options == expected)
    }

    @Test func `zero in the object sets no limit, and leaves connecting to the system's own`() throws {
        let object = #"{"connectTimeout":0,"connectionTimeout":0,"connectionRetryLimit":0}"#
        let settings = try Self.read(object).settings
        var options = BinaryOptions()
        options.set { settings.options[$0.name] }
        #expect(options.connectTimeout == .seconds(127))
        #expect(options.idleTimeout == nil)
        #expect(options.connectionRetryLimit == nil)
    }

    @Test func `the page for people has a row for each option, in the same order`() throws {
        let package = URL(filePath: #filePath).appending(path: "../../../../").standardizedFileURL
        let page = try String(contentsOf: package.appending(path: "Compat/node-apn.md"), encoding: .utf8)
        let section = try #require(
            page.split(separator: "\n## ").first { $0.hasPrefix("The options object\n") },
            "the page has lost its section"
        )
        let rows = section.split(separator: "\n").filter { $0.hasPrefix("| `") }
        #expect(
            rows.compactMap { $0.split(separator: "`").dropFirst().first.map(String.init) }
                == NodeAPNOption.all.map(\.name)
        )
        #expect(rows.allSatisfy { $0.count { $0 == "|" } == 6 })
    }
}

import FerryCore
import FerryHTTP2
import Testing

@Suite struct PushTypeTableTests {
    private let table = PushTypeTable()

    @Test func `Every push type has its rules at its code, and no other code has any`() throws {
        for type in PushType.allCases {
            let rules = try #require(self.table[type.code])
            #expect(rules.type == type)
            #expect("\(rules.headerValue)" == type.rawValue)
        }
        #expect(self.table.all.count == 11)
        #expect(self.table[0] == nil)
        #expect(self.table[12] == nil)
        #expect(self.table[255] == nil)
    }

    @Test(
        arguments: [
            (.alert, "", [10, 5, 1], nil, 4096, false),
            (.background, "", [5], 5, 4096, false),
            (.location, ".location-query", [10, 5, 1], nil, 4096, true),
            (.voip, ".voip", [10, 5, 1], nil, 5120, false),
            (.complication, ".complication", [10, 5, 1], nil, 4096, false),
            (.fileprovider, ".pushkit.fileprovider", [10, 5, 1], nil, 4096, false),
            (.mdm, "", [10, 5, 1], nil, 4096, false),
            (.liveactivity, ".push-type.liveactivity", [10, 5], nil, 4096, false),
            (.pushtotalk, ".voip-ptt", [10, 5, 1], nil, 4096, false),
            (.widgets, ".push-type.widgets", [10, 5, 1], nil, 4096, false),
            (.controls, ".push-type.controls", [10, 5, 1], nil, 4096, false),
        ] as [(PushType, String, [UInt8], UInt8?, Int, Bool)]
    )
    func `Each push type has Apple's rules`(
        type: PushType,
        suffix: String,
        priorities: [UInt8],
        implied: UInt8?,
        limit: Int,
        needsToken: Bool
    ) throws {
        let rules = try #require(self.table[type.code])
        #expect(rules.suffix.text == suffix)
        #expect(rules.priorities.map(\.rawValue) == priorities)
        #expect((UInt8.min...UInt8.max).filter { rules.takes(priority: $0) } == priorities.sorted())
        #expect(rules.defaultPriority?.rawValue == implied)
        #expect(rules.payloadLimit == limit)
        #expect(rules.needsProviderToken == needsToken)
    }

    @Test func `A topic that is not named is the bundle ID with the suffix of the push type`() {
        let topic = DefaultTopic(bundleID: "com.example.app", table: self.table)
        #expect(topic.exists)
        #expect(text(topic, 0) == "com.example.app")
        for rules in self.table.all {
            #expect(text(topic, rules.type.code) == "com.example.app" + rules.suffix.text)
        }
        #expect(text(topic, 12) == "")
    }

    @Test func `A default topic that has the suffix already is taken as it is`() {
        let topic = DefaultTopic(bundleID: "com.example.app.voip", table: self.table)
        #expect(text(topic, PushType.voip.code) == "com.example.app.voip")
        #expect(text(topic, PushType.widgets.code) == "com.example.app.voip.push-type.widgets")
    }

    @Test(arguments: [nil, ""]) func `Without a bundle ID there is no default topic`(bundleID: String?) {
        let topic = DefaultTopic(bundleID: bundleID, table: self.table)
        #expect(!topic.exists)
        #expect(text(topic, 1) == "")
    }

    @Test func `The suffix of complications can be another, or none`() throws {
        let table = PushTypeTable(complicationSuffix: try #require(TopicSuffix(".watchkitapp.complication")))
        let topic = DefaultTopic(bundleID: "com.example.app", table: table)
        #expect(text(topic, PushType.complication.code) == "com.example.app.watchkitapp.complication")
        let plain = DefaultTopic(bundleID: "com.example.app", table: PushTypeTable(complicationSuffix: .none))
        #expect(text(plain, PushType.complication.code) == "com.example.app")
    }

    @Test(arguments: [".", "voip", ".vo ip", ".vöip", "." + String(repeating: "x", count: 32)])
    func `What cannot be a suffix is none`(suffix: String) {
        #expect(TopicSuffix(suffix) == nil)
    }

    @Test(arguments: [
        ("com.example.voip", true), ("x.voip", true), (".voip", false), ("voip", false), ("", false),
        ("com.example.voip-ptt", false), ("com.example.Voip", false), ("com.example.voip.", false),
    ])
    func `A topic ends in a suffix only behind something`(topic: String, ends: Bool) throws {
        let suffix = try #require(TopicSuffix(".voip"))
        #expect(withBytes(topic) { suffix.ends($0) } == ends)
        #expect(!withBytes(topic) { TopicSuffix.none.ends($0) })
    }

    private func text(_ topic: DefaultTopic, _ code: UInt8) -> String {
        topic.withBytes(pushType: code) { String(decoding: $0, as: UTF8.self) }
    }
}

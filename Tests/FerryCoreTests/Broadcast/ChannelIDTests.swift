import FerryCore
import Testing

@Suite struct ChannelIDTests {
    @Test(arguments: ["dHN0LXNyY2gtY2hubA==", "a", "+/-_=09AZaz", String(repeating: "A", count: 255)])
    func `An identifier is Base64 of either alphabet, and kept as it is`(text: String) throws {
        let id = try #require(ChannelID(rawValue: text))
        #expect(id.rawValue == text)
        #expect(id.description == text)
    }

    @Test(arguments: ["", " ", "a b", "a\r\nb", "a\u{0}", "ä", "a,b", "\"", String(repeating: "A", count: 256)])
    func `Other text is none, so no header can be forged with it`(text: String) {
        #expect(ChannelID(rawValue: text) == nil)
    }

    @Test func `A policy that Apple adds later is kept`() {
        #expect(MessageStoragePolicy.noMessageStored.rawValue == 0)
        #expect(MessageStoragePolicy.mostRecentMessageStored.rawValue == 1)
        #expect(MessageStoragePolicy(rawValue: 7).description == "policy 7")
        #expect(MessageStoragePolicy.mostRecentMessageStored.description == "Most Recent Message Stored")
    }
}

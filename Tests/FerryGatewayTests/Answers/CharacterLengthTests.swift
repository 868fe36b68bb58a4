import FerryCore
import Testing

@testable import FerryGateway

@Suite struct CharacterLengthTests {
    private func isLength(_ payload: String, _ length: Int, before rest: [UInt8] = []) -> Bool {
        let bytes = [0, 32] + Array(payload.utf8) + rest
        return bytes.withUnsafeBufferPointer { CharacterLength.isLength(of: 2..<2 + length, in: $0) }
    }

    @Test(arguments: [#"{"aps":{"alert":"Grüße"}}"#, #"{"aps":{"alert":"日本語のお知らせ"}}"#, #"{"aps":{"alert":"ab é"}}"#])
    func `the number of characters is recognized`(payload: String) {
        #expect(self.isLength(payload, payload.unicodeScalars.count))
        #expect(self.isLength(payload, payload.unicodeScalars.count, before: [1, 0, 0, 0, 1]))
    }

    @Test func `strings of UTF-16 count a letter beyond U+FFFF twice`() {
        let payload = #"{"aps":{"alert":"Hi 👋🏽 there"}}"#
        #expect(self.isLength(payload, payload.utf16.count))
        #expect(self.isLength(payload, payload.unicodeScalars.count))
    }

    @Test func `other wrong lengths are not recognized`() {
        let payload = #"{"aps":{"alert":"Grüße"}}"#
        #expect(!self.isLength(payload, payload.unicodeScalars.count - 1))
        #expect(!self.isLength(payload, payload.unicodeScalars.count + 1))
        #expect(!self.isLength(#"{"aps":{"alert":"Gruss"}}"#, 20))
        #expect(!self.isLength(#"{"aps":{"alert":"Gr"#, 10))
        #expect(!self.isLength("ü", 1))
    }
}

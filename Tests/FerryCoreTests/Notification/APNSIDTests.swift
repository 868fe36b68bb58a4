import FerryCore
import Testing

@Suite struct APNSIDTests {
    @Test func `A UUID of either case is read and written in lower case`() throws {
        let id = try APNSID("EABEAE54-14a8-11e5-B60B-1697f925ec7b")
        #expect(id.description == "eabeae54-14a8-11e5-b60b-1697f925ec7b")
    }

    @Test(arguments: [
        "", "eabeae54", "eabeae54-14a8-11e5-b60b-1697f925ec7", "eabeae54-14a8-11e5-b60b-1697f925ec7b0",
        "eabeae5414a8-11e5-b60b-1697f925ec7b-", "gabeae54-14a8-11e5-b60b-1697f925ec7b",
        "eabeae54-14a8-11e5-b60b-1697f925ec7é", "eabeae54 14a8-11e5-b60b-1697f925ec7b",
    ])
    func `What is not a UUID is refused`(text: String) {
        let error = #expect(throws: PushValidationError.self) { try APNSID(text) }
        #expect(error?.faults.map(\.code) == [.badAPNSID])
    }

    @Test func `A random one has the version and the variant of RFC 9562`() {
        var generator = SeededGenerator(seed: 2)
        for _ in 0..<1000 {
            let text = Array(APNSID.random(using: &generator).description)
            #expect(text[14] == "4")
            #expect(["8", "9", "a", "b"].contains(text[19]))
        }
        #expect(APNSID.random() != APNSID.random())
    }

    @Test func `The text and the 16 bytes both lead back to it`() throws {
        var generator = SeededGenerator(seed: 3)
        for _ in 0..<1000 {
            let id = APNSID.random(using: &generator)
            #expect(try APNSID(id.description) == id)
            let bytes = [UInt8](unsafeUninitializedCapacity: 16) { target, count in
                if let start = target.baseAddress { id.write(to: start) }
                count = 16
            }
            let read = bytes.withUnsafeBufferPointer { $0.baseAddress.map(APNSID.init(reading:)) }
            #expect(read == id)
        }
    }

    @Test func `The bytes stand in the order of the text`() throws {
        let id = try APNSID("00112233-4455-6677-8899-aabbccddeeff")
        let bytes = [UInt8](unsafeUninitializedCapacity: 16) { target, count in
            if let start = target.baseAddress { id.write(to: start) }
            count = 16
        }
        #expect(bytes == (0..<16).map { $0 * 0x11 })
    }
}

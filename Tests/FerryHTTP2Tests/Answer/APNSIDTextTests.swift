import FerryCore
import FerryHTTP2
import FerryMachine
import Testing

@Suite struct APNSIDTextTests {
    @Test func `A UUID of either case is read`() throws {
        let text = "123e4567-E89B-12d3-A456-42661417400f"
        #expect(withBytes(text) { APNSID(text: $0) } == (try APNSID(text)))
        #expect(withBytes(text) { APNSID(text: $0) }?.description == text.lowercased())
    }

    @Test(arguments: [
        "", "123e4567", "123e4567-e89b-12d3-a456-42661417400", "123e4567-e89b-12d3-a456-42661417400ff",
        "123e4567e-89b-12d3-a456-42661417400f", "{23e4567-e89b-12d3-a456-42661417400}",
        "123e4567-e89b-12d3-a456-4266141740äf",
    ])
    func `any other text is not an apns-id`(text: String) {
        #expect(withBytes(text) { APNSID(text: $0) } == nil)
    }

    @Test func `Every byte at every place is judged as by the slow way`() {
        let text = Array("89abcdef-0189-ABCD-EF01-23456789abcd".utf8)
        for place in text.indices {
            for byte in UInt8.min...UInt8.max {
                var changed = text
                changed[place] = byte
                let value = changed.withUnsafeBufferPointer { APNSID(text: $0) }
                #expect(value == APNSID.parse(changed), "byte \(byte) at \(place)")
            }
        }
    }

    @Test func `Random UUIDs come back`() {
        var generator = SplitMix64(seed: 11)
        for _ in 0..<10_000 {
            let id = APNSID.random(using: &generator)
            #expect(withBytes(id.description) { APNSID(text: $0) } == id)
        }
    }
}

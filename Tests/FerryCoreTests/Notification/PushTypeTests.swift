import FerryCore
import Testing

@Suite struct PushTypeTests {
    @Test func `Every push type has a code of its own that leads back to it`() {
        #expect(Set(PushType.allCases.map(\.code)).count == PushType.allCases.count)
        for type in PushType.allCases {
            #expect(PushType(code: type.code) == type)
        }
    }

    @Test func `Code 0 means none`() {
        #expect(PushType(code: 0) == nil)
        #expect(PushType(code: 255) == nil)
    }

    @Test func `No priority has the number that means none`() {
        #expect(Priority.allCases.map(\.rawValue).sorted() == [1, 5, 10])
    }
}

import FerryCore
import Foundation
import Testing

@Suite struct Base64URLTests {
    /// RFC 4648, section 10, without padding; and a text with both special digits.
    @Test(
        arguments: [
            ([], ""), (Array("f".utf8), "Zg"), (Array("fo".utf8), "Zm8"), (Array("foo".utf8), "Zm9v"),
            (Array("foob".utf8), "Zm9vYg"), (Array("fooba".utf8), "Zm9vYmE"), (Array("foobar".utf8), "Zm9vYmFy"),
            ([0xfb, 0xff, 0xbf], "-_-_"),
        ] as [([UInt8], String)]
    )
    func `the vectors of the specification are written and read`(bytes: [UInt8], text: String) {
        #expect(Base64URL.encode(bytes) == Array(text.utf8))
        #expect(Base64URL.decode(text.utf8) == bytes)
    }

    @Test func `it writes what Foundation writes, and reads it back`() {
        for length in 0..<200 {
            let bytes = (0..<length).map { _ in UInt8.random(in: 0...255) }
            let expected = Data(bytes).base64EncodedString()
                .replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
            #expect(Base64URL.encode(bytes) == Array(expected.utf8))
            #expect(Base64URL.decode(expected.utf8) == bytes)
        }
    }

    @Test(arguments: ["Z", "Zg==", "Zh", "Zm9", "Zm9vY", "Zm+v", "Zm/v", "Zm 9v", "Zm9v\n", "Zmé"])
    func `what no encoder writes is refused`(text: String) {
        #expect(Base64URL.decode(text.utf8) == nil)
    }
}

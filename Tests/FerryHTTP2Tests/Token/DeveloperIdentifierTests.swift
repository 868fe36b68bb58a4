import FerryHTTP2
import Testing

@Suite struct DeveloperIdentifierTests {
    @Test(arguments: ["ABCDE12345", "0000000000", "ZZZZZZZZZZ"])
    func `ten capital letters and digits are one`(text: String) {
        #expect(DeveloperIdentifier(text)?.text == text)
        #expect(DeveloperIdentifier.fault(in: text) == nil)
    }

    @Test(
        arguments: [
            ("", "has 0 characters"), ("ABCDE1234", "has 9 characters"), ("ABCDE123456", "has 11 characters"),
            ("abcde12345", "has others"), ("ABCDE1234é", "has others"), ("ABCDE 1234", "has others"),
            ("ABCDE1234\"", "has others"),
        ]
    )
    func `everything else is none, and the fault says why`(text: String, words: String) {
        #expect(DeveloperIdentifier(text) == nil)
        #expect(DeveloperIdentifier.fault(in: text)?.hasSuffix(words) == true)
    }
}

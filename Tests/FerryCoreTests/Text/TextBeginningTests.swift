import FerryCore
import Testing

@Suite struct TextBeginningTests {
    @Test(
        arguments: [
            ("", 3, ""), ("abc", 3, "abc"), ("abcd", 3, "abc"), ("abc", 0, ""), ("abc", -1, ""),
            ("aé", 2, "a"), ("aé", 3, "aé"), ("東京", 5, "東"), ("🚢", 3, ""),
        ]
    )
    func `a text is cut by its bytes, between two scalars`(text: String, limit: Int, beginning: String) {
        #expect(text.beginning(utf8: limit) == beginning)
    }

    @Test func `a letter with thousands of accents is cut, too`() {
        let text = "a" + String(repeating: "\u{301}", count: 14_000)
        #expect(text.count == 1)
        #expect(text.beginning(utf8: 200).utf8.count == 199)
    }
}

import FerryCore
import Testing

@Suite struct PrintableTextTests {
    @Test(
        arguments: [
            ("CN=localhost", "CN=localhost"),
            ("Zoë 東京 🚢", "Zoë 東京 🚢"),
            ("", ""),
            ("\u{1b}]0;owned\u{7}", "\\u{1B}]0;owned\\u{7}"),
            ("a\nok       all is well", "a\\u{A}ok       all is well"),
            ("a\r\nb\tc\u{7f}", "a\\u{D}\\u{A}b\\u{9}c\\u{7F}"),
            // The control sequence CSI as one character, which some terminals obey.
            ("\u{9b}2J", "\\u{9B}2J"),
            ("apple\u{202e}moc.elpmaxe", "apple\\u{202E}moc.elpmaxe"),
            ("a\u{2028}b\u{200b}c", "a\\u{2028}b\\u{200B}c"),
        ]
    )
    func `nothing that acts on a terminal is left, and nothing else is changed`(text: String, printable: String) {
        #expect(text.printable == printable)
    }
}

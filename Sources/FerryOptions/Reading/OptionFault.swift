/// The reason why options cannot be used, as one sentence without a secret. All languages use the same words.
package struct OptionFault: Error, Hashable, CustomStringConvertible {
    package var sentence: String

    package init(_ sentence: String) { self.sentence = sentence }

    package var description: String { self.sentence }

    /// The text is not one JSON object.
    static func malformed(_ fault: any Error) -> OptionFault {
        OptionFault("The options are not one JSON object, such as {\"production\": true}: \(fault).")
    }

    /// - Parameter place: see ``place(_:_:)``.
    package static func twice(_ place: String) -> OptionFault { OptionFault("The option \(place) stands there twice.") }

    /// The value has a wrong type, or is out of range.
    static func wrong(_ place: String, _ wanted: String) -> OptionFault {
        OptionFault("The option \(place) takes \(wanted).")
    }

    static func missing(_ place: String) -> OptionFault { OptionFault("The option \(place) is missing.") }

    /// - Parameter names: the names that exist there.
    static func unknown(_ place: String, _ name: String, among names: some Collection<String>) -> OptionFault {
        OptionFault("There is no option \(place) here\(self.meant(name, among: names) ?? ".")")
    }

    /// Returns "; is cacheLength meant?" if a name is like one of `names`; otherwise nil.
    package static func meant(_ name: String, among names: some Collection<String>) -> String? {
        SimilarName.of(name, among: names.sorted()).map { "; is \($0) meant?" }
    }

    // MARK: Names

    /// The length in bytes of the longest name that a message shows.
    private static let longestName = 40
    private static let namesWithDigits: Set<String> = ["p8", "p12", "pkcs12", "http2"]

    /// Returns the name in quotes, after the path of its object. A name that may be a secret is hidden.
    package static func place(_ path: String, _ name: String) -> String {
        self.isShown(name) ? "'\(path)\(name)'" : "with a name of \(name.utf8.count) bytes"
    }

    /// Returns the name as a part of a path. A name that may be a secret is hidden.
    static func shown(_ name: String) -> String { self.isShown(name) ? name : "…" }

    /// Whether a message may show a name. Names of options consist of at most 40 letters, but for ``namesWithDigits``.
    /// Any other text may be a secret.
    package static func isShown(_ name: String) -> Bool {
        self.namesWithDigits.contains(name)
            || 1...self.longestName ~= name.utf8.count
                && name.utf8.allSatisfy { UInt8(ascii: "a")...UInt8(ascii: "z") ~= $0 | 0x20 }
    }
}

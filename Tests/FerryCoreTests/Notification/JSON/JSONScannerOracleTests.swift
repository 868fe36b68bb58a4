import FerryCore
import Foundation
import Testing

/// Compares the scanner with Foundation's parser, on texts that are valid and on texts that nearly are.
@Suite struct JSONScannerOracleTests {
    @Test(arguments: 0..<20 as Range<UInt64>)
    func `Scanner and Foundation agree on random texts and their mutations`(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        for _ in 0..<300 {
            var text: [UInt8] = []
            Self.appendObject(to: &text, depth: 3, using: &generator)
            #expect(JSONScannerTests.fault(text) == nil, "seed \(seed): \(String(decoding: text, as: UTF8.self))")
            for _ in 0..<Int.random(in: 1...3, using: &generator) {
                Self.mutate(&text, using: &generator)
            }
            guard !Self.isBeyondOracle(text) else { continue }
            let isValid = (try? JSONSerialization.jsonObject(with: Data(text), options: .fragmentsAllowed)) != nil
            #expect(
                (JSONScannerTests.fault(text) == nil) == isValid,
                "seed \(seed): \(String(decoding: text, as: UTF8.self)) \(text)"
            )
        }
    }

    /// Whether Foundation differs from the RFC for this text. It guesses UTF-16 and UTF-32 from zero bytes. It accepts
    /// a byte order mark, and a comma before a closing bracket. It refuses numbers that no Double can hold, and half
    /// surrogate pairs.
    private static func isBeyondOracle(_ text: [UInt8]) -> Bool {
        if text.contains(0) || text.starts(with: [0xef]) || text.starts(with: [0xfe]) || text.starts(with: [0xff]) {
            return true
        }
        let lowered = String(decoding: text, as: UTF8.self).lowercased()
        if lowered.contains(/,[ \t\r\n]*[\]}]/) { return true }
        return lowered.contains("\\ud") || lowered.contains(/[0-9.]e\+?[0-9]{3}/)
    }

    private static func mutate(_ text: inout [UInt8], using generator: inout SeededGenerator) {
        guard !text.isEmpty else { return }
        let index = Int.random(in: 0..<text.count, using: &generator)
        let structural = Array(#"{}[],:"\/-+.eE0123 truefalsn"#.utf8) + [0x0a, 0x1f, 0x7f, 0x80, 0xc3, 0xe2, 0xf0]
        switch Int.random(in: 0..<5, using: &generator) {
        case 0: text.remove(at: index)
        case 1: text.insert(generator.pick(structural), at: index)
        case 2: text[index] = generator.pick(structural)
        case 3: text[index] = UInt8.random(in: 0...255, using: &generator)
        default: text.removeSubrange(index..<min(index + 4, text.count))
        }
    }

    private static func appendValue(to text: inout [UInt8], depth: Int, using generator: inout SeededGenerator) {
        switch Int.random(in: 0..<(depth > 0 ? 6 : 4), using: &generator) {
        case 0: text += generator.pick(["0", "-0", "17", "-3.25", "1e5", "2.5E-3", "123456789012"]).utf8
        case 1: text += generator.pick(["true", "false", "null"]).utf8
        case 2, 3: self.appendString(to: &text, using: &generator)
        case 4: self.appendObject(to: &text, depth: depth - 1, using: &generator)
        default:
            text.append(UInt8(ascii: "["))
            for index in 0..<Int.random(in: 0..<4, using: &generator) {
                if index > 0 { text += ", ".utf8 }
                self.appendValue(to: &text, depth: depth - 1, using: &generator)
            }
            text.append(UInt8(ascii: "]"))
        }
    }

    private static func appendObject(to text: inout [UInt8], depth: Int, using generator: inout SeededGenerator) {
        text += "{".utf8
        for index in 0..<Int.random(in: 0..<5, using: &generator) {
            if index > 0 { text += ",\n".utf8 }
            self.appendString(to: &text, using: &generator)
            text += " :".utf8
            self.appendValue(to: &text, depth: depth, using: &generator)
        }
        text += "}".utf8
    }

    private static func appendString(to text: inout [UInt8], using generator: inout SeededGenerator) {
        let pieces = [
            "a", "alert", " ", "0123456789", "é", "€", "💣", #"\n"#, #"\""#, #"\\"#, #"\/"#, #"\u00e9"#, #"\u20AC"#,
        ]
        text += "\"".utf8
        for _ in 0..<Int.random(in: 0..<6, using: &generator) { text += generator.pick(pieces).utf8 }
        text += "\"".utf8
    }
}

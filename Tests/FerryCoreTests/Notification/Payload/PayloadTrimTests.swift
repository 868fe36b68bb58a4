import FerryCore
import Foundation
import Testing

@Suite struct PayloadTrimTests {
    @Test func `What fits stays as it is`() throws {
        var payload = Payload(alert: "Hello")
        #expect(payload.trim(to: try payload.json().count) == .fits)
        #expect(payload.alert?.body == "Hello")
    }

    @Test func `An emoji at the cut goes whole`() {
        var payload = Payload(alert: "Test💣")
        #expect(payload.trim(to: 25) == .trimmed(removed: "💣", bytes: 4))
        #expect(payload.alert?.body == "Test")
    }

    @Test func `The default is the binary protocol's limit`() throws {
        var payload = Payload(alert: .init(body: String(repeating: "x", count: 3000)))
        #expect(payload.trim() == .trimmed(removed: String(repeating: "x", count: 972), bytes: 972))
        #expect(try payload.json().count == 2048)
    }

    @Test(arguments: [
        ("this is a test payload", 3, "this is a test"),
        ("this is a test payload", 8, "this is a test"),
        ("this is a test payload", 9, "this is a"),
        ("this is a test  payload", 7, "this is a test"),
        ("word", 2, "wo"),
        (" word", 2, " wo"),
        ("one two", 7, ""),
        ("eins\nzwei", 2, "eins"),
    ])
    func `At a word's end no word is cut, unless it is the only one`(body: String, excess: Int, kept: String) throws {
        var payload = Payload(alert: .init(body: body))
        payload.trim(to: try payload.json().count - excess, atWordEnd: true)
        #expect(payload.alert?.body == kept)
    }

    @Test func `An escape goes whole, and counts with all its bytes`() throws {
        for (body, excess) in [("ab\n", 1), ("ab\u{1}", 1), ("ab\u{1}", 5), ("ab\"", 1), ("ab\\", 2)] {
            var payload = Payload(alert: .init(body: body))
            payload.trim(to: try payload.json().count - excess)
            #expect(payload.alert?.body == "ab")
        }
    }

    @Test func `A family, a flag and a letter with its accents are one character each`() throws {
        for character in ["👩‍👩‍👧‍👦", "🇩🇪", "e\u{301}\u{323}", "🏴󠁧󠁢󠁳󠁣󠁴󠁿", "한"] {
            var payload = Payload(alert: .init(body: "ab" + character))
            #expect(
                payload.trim(to: try payload.json().count - 1)
                    == .trimmed(removed: character, bytes: character.utf8.count)
            )
        }
    }

    @Test func `When the body is not what is too large, nothing is changed and the rest is told`() throws {
        var payload = Payload(alert: .init(title: String(repeating: "t", count: 100), body: "body"))
        let before = payload
        let size = try payload.json().count
        #expect(payload.trim(to: size - 10) == .cannotFit(excess: 6))
        #expect(payload == before)
        #expect(payload.trim(to: size - 4) == .trimmed(removed: "body", bytes: 4))
        #expect(payload.alert?.body == "")

        var silent = Payload(badge: 1)
        #expect(silent.trim(to: 10) == .cannotFit(excess: 9))
    }

    @Test func `A body that a Live Activity does not show cannot be trimmed`() throws {
        var payload = Payload(alert: "body")
        payload.alert?.locKey = "KEY"
        payload.liveActivity = .init(.end, timestamp: Date(timeIntervalSince1970: 1), contentState: nil)
        #expect(payload.trim(to: try payload.json().count - 1) == .cannotFit(excess: 1))
    }

    @Test(arguments: 0..<10 as Range<UInt64>)
    func `Whatever the text, the result is JSON, fits, and is the longest beginning that does`(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        for _ in 0..<100 {
            let body = Self.randomText(using: &generator)
            var payload = Payload(alert: .init(title: "t", body: body), badge: 1)
            let size = try payload.json().count
            let limit = Int.random(in: size - body.utf8.count - 5...size, using: &generator)
            let atWordEnd = Bool.random(using: &generator)
            let result = payload.trim(to: limit, atWordEnd: atWordEnd)
            let json = try payload.json()
            let kept = payload.alert?.body ?? ""
            #expect((try? JSONSerialization.jsonObject(with: Data(json))) != nil, "seed \(seed)")

            switch result {
            case .fits:
                #expect(kept == body && size <= limit)
            case .cannotFit(let excess):
                #expect(Array(kept.utf8) == Array(body.utf8))
                var empty = payload
                empty.alert?.body = ""
                #expect(try empty.json().count == limit + excess)
            case .trimmed(let removed, let bytes):
                #expect(json.count <= limit && size - json.count == bytes, "seed \(seed)")
                #expect(Array((kept + removed).utf8) == Array(body.utf8), "seed \(seed)")
                guard !atWordEnd, let next = removed.first else { continue }
                var longer = payload
                longer.alert?.body = kept + String(next)
                #expect(try longer.json().count > limit, "seed \(seed)")
            }
        }
    }

    private static func randomText(using generator: inout SeededGenerator) -> String {
        let pieces = [
            "a", "word", " ", "  ", "\n", "\"", "\\", "/", "\u{1}", "é", "e\u{301}", "\u{301}", "€", "💣", "👍🏽",
            "👩‍👩‍👧‍👦", "🇩🇪", "\u{200d}", "\r\n", "한", "\u{2028}", "\u{0}",
        ]
        return (0..<Int.random(in: 0..<40, using: &generator)).map { _ in generator.pick(pieces) }.joined()
    }
}

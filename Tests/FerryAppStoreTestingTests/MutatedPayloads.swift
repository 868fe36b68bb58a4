import FerryAppStore
import FerryAppStoreTesting
import FerryCore
import FerryMachine
import FerryOpenSSL
import Foundation

/// Texts that resemble a genuine `signedPayload`, each wrong or strange in one way.
///
/// The kind of a change is the part of its name before the colon.
struct MutatedPayloads {
    struct Case {
        var name: String
        var text: String
    }

    private(set) var cases: [Case] = []
    private let chain: ThrowAwaySigningChain
    private let foreign: ThrowAwaySigningChain
    private let payload: String
    private let genuine: String
    private var generator = SplitMix64(seed: 20)

    /// - Parameter maker: makes genuine notifications, signed with `chain`.
    init(_ chain: ThrowAwaySigningChain, _ maker: NotificationMaker) throws {
        self.chain = chain
        self.foreign = try ThrowAwaySigningChain(name: "Someone else")
        var maker = maker
        let made = try maker.make(.init(.didRenew))
        self.genuine = made.signedPayload ?? ""
        self.payload = try Self.decoded(self.genuine, part: 1)
        try self.addDamage()
        try self.addHeaders()
        try self.addCertificates()
        try self.addChains()
        try self.addDates()
        try self.addPayloads(&maker)
        self.addEncodings()
    }

    static func decoded(_ text: String, part: Int) throws -> String {
        let parts = text.split(separator: ".")
        guard parts.count > part, let bytes = Base64URL.decode(Array(parts[part].utf8)) else {
            throw CocoaError(.coderInvalidValue)
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    private static func encoded(_ bytes: some Collection<UInt8>) -> String {
        String(decoding: Base64URL.encode(bytes), as: UTF8.self)
    }

    private static func base64(_ certificates: [[UInt8]]) -> [String] {
        certificates.map { Data($0).base64EncodedString() }
    }

    private static func header(_ certificates: [String], before: String = "\"alg\":\"ES256\",", after: String = "")
        -> String
    {
        "{\(before)\"x5c\":[\(certificates.map { "\"\($0)\"" }.joined(separator: ","))]\(after)}"
    }

    private var x5c: [String] { Self.base64(self.chain.certificates) }

    private mutating func add(_ name: String, _ text: String) { self.cases.append(Case(name: name, text: text)) }

    /// Adds a text whose signature is right.
    private mutating func add(
        _ name: String,
        header: String? = nil,
        payload: String? = nil,
        by signer: ThrowAwaySigningChain? = nil
    ) throws {
        let header = header ?? Self.header(self.x5c)
        let input = "\(Self.encoded(header.utf8)).\(Self.encoded((payload ?? self.payload).utf8))"
        let signature = try (signer ?? self.chain).key.sign(Array(input.utf8))
        self.add(name, "\(input).\(Self.encoded(signature))")
    }

    // MARK: Kinds of changes

    /// Random damage in each of the three parts.
    private mutating func addDamage() throws {
        let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)
        let dots = self.genuine.utf8.enumerated().filter { $1 == UInt8(ascii: ".") }.map(\.offset)
        let text = Array(self.genuine.utf8)
        let ranges = [
            ("header", 0..<dots[0]), ("payload", dots[0] + 1..<dots[1]), ("signature", dots[1] + 1..<text.count),
        ]
        for (name, range) in ranges {
            for number in 0..<170 {
                var changed = text
                let place = Int.random(in: range, using: &self.generator)
                let other = alphabet.filter { $0 != text[place] }
                changed[place] = other.randomElement(using: &self.generator) ?? text[place]
                self.add("\(name) changed: \(number)", String(decoding: changed, as: UTF8.self))
            }
            for number in 0..<50 {
                var changed = text
                let place = Int.random(in: range, using: &self.generator)
                changed.remove(at: place)
                self.add("\(name) shortened: \(number)", String(decoding: changed, as: UTF8.self))
                changed = text
                changed.insert(alphabet.randomElement(using: &self.generator) ?? 0x41, at: place)
                self.add("\(name) longer: \(number)", String(decoding: changed, as: UTF8.self))
            }
            var empty = text
            empty.removeSubrange(range)
            self.add("\(name) empty:", String(decoding: empty, as: UTF8.self))
        }
        let parts = self.genuine.split(separator: ".").map(String.init)
        for (name, places) in [
            ("one part", [0]), ("two parts", [0, 1]), ("four parts", [0, 1, 2, 2]), ("swapped", [1, 0, 2]),
            ("reversed", [2, 1, 0]),
            ("same", [0, 0, 2]),
        ] {
            self.add("parts: \(name)", places.map { parts[$0] }.joined(separator: "."))
        }
        self.add("parts: nothing", "")
        self.add("parts: dots", "..")
        for length in [1, 32, 63, 65, 96, 128] {
            self.add(
                "signature length: \(length)",
                "\(parts[0]).\(parts[1]).\(Self.encoded(Array(repeating: 7, count: length)))"
            )
        }
        self.add("signature zero:", "\(parts[0]).\(parts[1]).\(Self.encoded(Array(repeating: 0, count: 64)))")
    }

    private mutating func addHeaders() throws {
        for algorithm in [
            "none", "HS256", "HS384", "RS256", "PS256", "ES384", "ES512", "EdDSA", "es256", "ES256 ", "", "None",
        ] {
            try self.add("alg: \(algorithm)", header: Self.header(self.x5c, before: "\"alg\":\"\(algorithm)\","))
        }
        try self.add("alg: missing", header: Self.header(self.x5c, before: ""))
        try self.add("alg: null", header: Self.header(self.x5c, before: "\"alg\":null,"))
        try self.add("alg: number", header: Self.header(self.x5c, before: "\"alg\":256,"))
        let none =
            "\(Self.encoded(Self.header(self.x5c, before: "\"alg\":\"none\",").utf8)).\(Self.encoded(self.payload.utf8))."
        self.add("alg: none without signature", none)
        for (name, member) in [
            ("typ", "\"typ\":\"JWT\""), ("kid", "\"kid\":\"1\""), ("x5u", "\"x5u\":\"https://example.com/x\""),
            ("jku", "\"jku\":\"https://example.com/x\""), ("cty", "\"cty\":\"JWT\""),
        ] {
            try self.add("harmless header: \(name)", header: Self.header(self.x5c, after: ",\(member)"))
        }
        try self.add("crit: unknown", header: Self.header(self.x5c, after: ",\"crit\":[\"exp\"],\"exp\":1"))
        try self.add("crit: b64", header: Self.header(self.x5c, after: ",\"crit\":[\"b64\"],\"b64\":true"))
        try self.add("crit: empty", header: Self.header(self.x5c, after: ",\"crit\":[]"))
        try self.add(
            "header name twice: alg",
            header: Self.header(self.x5c, before: "\"alg\":\"none\",\"alg\":\"ES256\",")
        )
        try self.add("header name twice: typ", header: Self.header(self.x5c, after: ",\"typ\":\"JWT\",\"typ\":\"JWT\""))
        for (name, text) in [
            ("list", "[]"), ("text", "\"ES256\""), ("empty", "{}"), ("cut", "{\"alg\":\"ES256\""), ("no", "x"),
        ] {
            try self.add("header not an object: \(name)", header: text)
        }
        // A signature in the form of OpenSSL and Java.
        let parts = self.genuine.split(separator: ".").map(String.init)
        for number in 0..<10 {
            let signature = try self.chain.key.sign(Array("\(parts[0]).\(parts[1])".utf8))
            self.add("DER signature: \(number)", "\(parts[0]).\(parts[1]).\(Self.encoded(Self.der(signature)))")
        }
    }

    private static func der(_ signature: [UInt8]) -> [UInt8] {
        func integer(_ bytes: ArraySlice<UInt8>) -> [UInt8] {
            let trimmed = Array(bytes.drop { $0 == 0 })
            let positive = (trimmed.first ?? 0) >= 0x80 ? [0] + trimmed : trimmed
            return [0x02, UInt8(positive.count)] + positive
        }
        let content = integer(signature[..<32]) + integer(signature[32...])
        return [0x30, UInt8(content.count)] + content
    }

    private mutating func addCertificates() throws {
        let (own, other) = (self.x5c, Self.base64(self.foreign.certificates))
        for count in 0...2 { try self.add("x5c: \(count)", header: Self.header(Array(own.prefix(count)))) }
        try self.add("x5c: 4", header: Self.header(own + [own[2]]))
        try self.add("x5c: missing", header: "{\"alg\":\"ES256\"}")
        try self.add("x5c: null", header: "{\"alg\":\"ES256\",\"x5c\":null}")
        try self.add("x5c: text", header: "{\"alg\":\"ES256\",\"x5c\":\"\(own[0])\"}")
        try self.add("x5c: numbers", header: "{\"alg\":\"ES256\",\"x5c\":[1,2,3]}")
        for order in [[0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0], [0, 0, 2], [0, 2, 2], [1, 1, 2]] {
            try self.add("x5c order: \(order)", header: Self.header(order.map { own[$0] }))
        }
        try self.add("foreign leaf:", header: Self.header([other[0], own[1], own[2]]))
        try self.add("foreign leaf: with its key", header: Self.header([other[0], own[1], own[2]]), by: self.foreign)
        try self.add("foreign intermediate:", header: Self.header([own[0], other[1], own[2]]))
        try self.add("foreign root:", header: Self.header([own[0], own[1], other[2]]))
        try self.add("foreign chain:", header: Self.header(other), by: self.foreign)
        try self.add(
            "foreign chain: but the root",
            header: Self.header([other[0], other[1], own[2]]),
            by: self.foreign
        )
        try self.add("third certificate: of no meaning", header: Self.header([own[0], own[1], "AAAA"]))
        for place in 0..<3 {
            let der = self.chain.certificates[place]
            func replaced(_ text: String) -> String {
                var list = own
                list[place] = text
                return Self.header(list)
            }
            let name = ["leaf", "intermediate", "third"][place]
            try self.add("bytes after \(name):", header: replaced(Data(der + [0]).base64EncodedString()))
            try self.add("\(name) cut:", header: replaced(Data(der.dropLast()).base64EncodedString()))
            try self.add("\(name) empty:", header: replaced(""))
            try self.add("\(name) in base64url:", header: replaced(Self.encoded(der)))
            try self.add(
                "\(name) with a line break:",
                header: replaced("\(own[place].prefix(64))\\n\(own[place].dropFirst(64))")
            )
            try self.add("\(name) with a space:", header: replaced(" \(own[place])"))
            for number in 0..<20 {
                var changed = der
                changed[Int.random(in: 0..<der.count, using: &self.generator)] ^=
                    1 << UInt8.random(in: 0...7, using: &self.generator)
                try self.add("\(name) bit: \(number)", header: replaced(Data(changed).base64EncodedString()))
            }
        }
    }

    /// Chains of another shape cannot have the same root, so their texts are judged with roots of their own elsewhere. Here,
    /// the leaf's key signs, and only the header's order differs.
    private mutating func addChains() throws {
        let marks: [(String, (inout ThrowAwaySigningChain.Shape) -> Void)] = [
            ("usual", { _ in }), ("leaf mark missing", { $0.marksLeaf = false }),
            ("intermediate mark missing", { $0.marksIntermediate = false }),
            ("intermediate no authority", { $0.isIntermediateAuthority = false }),
            ("leaf expired", { $0.leafValidity = -1000...(-500) }),
            ("leaf in the future", { $0.leafValidity = 500...1000 }),
            ("authorities expired", { $0.authorityValidity = -1000...(-500) }),
        ]
        for (name, change) in marks {
            var shape = ThrowAwaySigningChain.Shape()
            change(&shape)
            let other = try ThrowAwaySigningChain(name: name, shape: shape)
            self.roots.append(other.rootPEM)
            try self.add("shape: \(name)", header: Self.header(Self.base64(other.certificates)), by: other)
        }
    }

    /// The roots of chains of another shape. A verifier must trust them, too.
    private(set) var roots: [[UInt8]] = []

    private mutating func addDates() throws {
        let original = try NSRegularExpression(pattern: #""signedDate":\d+\}$"#)
        func dated(_ text: String) -> String {
            let range = NSRange(self.payload.startIndex..., in: self.payload)
            return original.stringByReplacingMatches(in: self.payload, range: range, withTemplate: text)
        }
        let now = Int64(Date().timeIntervalSince1970 * 1000)
        let day: Int64 = 86_400_000
        for days in [-4000, -3649, -400, -366, -364, -100, -1, 1, 100, 364, 366, 400, 3649, 4000] as [Int64] {
            try self.add("signedDate: \(days) days", payload: dated("\"signedDate\":\(now + days * day)}"))
        }
        for value in [
            "0", "1", "-1", "9999999999", "99999999999999999", "253402300799999", "253402300800000",
            "9223372036854775808",
        ] {
            try self.add("signedDate: \(value)", payload: dated("\"signedDate\":\(value)}"))
        }
        for value in ["\"\(now)\"", "\(now).5", "\(now)e0", "null", "true", "[]", "\"today\""] {
            try self.add("signedDate of another type: \(value)", payload: dated("\"signedDate\":\(value)}"))
        }
        try self.add("signedDate missing:", payload: dated("\"later\":1}"))
        try self.add("signedDate twice:", payload: dated("\"signedDate\":\(now),\"signedDate\":\(now)}"))
        try self.add("receiptCreationDate instead:", payload: dated("\"receiptCreationDate\":\(now)}"))
        try self.add("claim: exp", payload: dated("\"signedDate\":\(now),\"exp\":1}"))
        try self.add("claim: nbf", payload: dated("\"signedDate\":\(now),\"nbf\":99999999999}"))
        try self.add("claim: aud", payload: dated("\"signedDate\":\(now),\"aud\":\"x\"}"))
    }

    private mutating func addPayloads(_ maker: inout NotificationMaker) throws {
        guard var object = try JSONSerialization.jsonObject(with: Data(self.payload.utf8)) as? [String: Any],
            let data = object["data"] as? [String: Any]
        else { throw CocoaError(.coderInvalidValue) }
        func json(_ object: [String: Any]) throws -> String {
            String(decoding: try JSONSerialization.data(withJSONObject: object, options: .sortedKeys), as: UTF8.self)
        }
        for name in object.keys.sorted() where name != "signedDate" {
            var changed = object
            changed[name] = nil
            try self.add("member missing: \(name)", payload: json(changed))
            changed[name] = ["a": 1]
            try self.add("member of another type: \(name)", payload: json(changed))
        }
        for name in data.keys.sorted() {
            var changed = data
            changed[name] = nil
            object["data"] = changed
            try self.add("data member missing: \(name)", payload: json(object))
            changed[name] = 7
            object["data"] = changed
            try self.add("data member of another type: \(name)", payload: json(object))
        }
        let changes: [(String, String, Any)] = [
            ("other app:", "bundleId", "com.example.other"), ("other number:", "appAppleId", 7),
            ("other environment:", "environment", "Sandbox"), ("unknown environment:", "environment", "Mars"),
            ("new status:", "status", 9), ("new member:", "future", ["x": 1]),
        ]
        for (title, name, value) in changes {
            var changed = data
            changed[name] = value
            object["data"] = changed
            try self.add(title, payload: json(object))
        }
        for (title, name, value) in [
            ("new type:", "notificationType", "BRAND_NEW"), ("new subtype:", "subtype", "NEW"),
        ] {
            var changed = object
            changed["data"] = data
            changed[name] = value
            try self.add(title, payload: json(changed))
        }
        try self.addNested(object, data, json)
        let twice = self.payload.dropLast() + ",\"notificationType\":\"REFUND\"}"
        try self.add("payload name twice:", payload: String(twice))
        for (name, text) in [("list", "[]"), ("text", "\"x\""), ("empty", "{}"), ("cut", "{\"a\":1"), ("two", "{}{}")] {
            try self.add("payload not an object: \(name)", payload: text)
        }
        var other = try NotificationMaker(app: maker.app, signer: AppStoreSigner(self.foreign))
        self.add("all foreign:", try other.make(.init(.didRenew)).signedPayload ?? "")
    }

    /// Signed texts inside that are not genuine, in a genuine notification.
    private mutating func addNested(
        _ object: [String: Any],
        _ data: [String: Any],
        _ json: ([String: Any]) throws -> String
    ) throws {
        let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)
        for name in ["signedTransactionInfo", "signedRenewalInfo"] {
            guard let text = data[name] as? String else { continue }
            var others: [(String, String)] = [("empty", ""), ("no JWS", "abc"), ("two parts", "a.b")]
            for number in 0..<20 {
                var bytes = Array(text.utf8)
                let place = Int.random(in: bytes.indices, using: &self.generator)
                let other = alphabet.filter { $0 != bytes[place] }
                bytes[place] =
                    bytes[place] == UInt8(ascii: ".") ? 0x41 : other.randomElement(using: &self.generator) ?? 0x41
                others.append(("\(number)", String(decoding: bytes, as: UTF8.self)))
            }
            let foreign = AppStoreSigner(self.foreign)
            others.append(("foreign", try foreign.sign(Array(Self.decoded(text, part: 1).utf8))))
            let own = AppStoreSigner(self.chain)
            let inner = try Self.decoded(text, part: 1)
            let foreignApp = inner.replacing("\"com.example.app\"", with: "\"com.example.x\"")
            // Renewals name no app.
            if foreignApp != inner { others.append(("other app", try own.sign(Array(foreignApp.utf8)))) }
            others.append(("sandbox", try own.sign(Array(inner.replacing("\"Production\"", with: "\"Sandbox\"").utf8))))
            for (title, other) in others {
                var (changedData, changed) = (data, object)
                changedData[name] = other
                changed["data"] = changedData
                try self.add("\(name): \(title)", payload: json(changed))
            }
        }
    }

    private mutating func addEncodings() {
        let parts = self.genuine.split(separator: ".").map(String.init)
        func joined(_ place: Int, _ text: String) -> String {
            var changed = parts
            changed[place] = text
            return changed.joined(separator: ".")
        }
        for place in 0..<3 {
            let padding = String(repeating: "=", count: (4 - parts[place].utf8.count % 4) % 4)
            if !padding.isEmpty { self.add("padding: \(place)", joined(place, parts[place] + padding)) }
            self.add("padding too much: \(place)", joined(place, parts[place] + "===="))
            self.add("line break: \(place)", joined(place, parts[place] + "\n"))
            self.add("space: \(place)", joined(place, " " + parts[place]))
        }
        let signature = parts[2].replacing("-", with: "+").replacing("_", with: "/")
        if signature != parts[2] { self.add("standard alphabet: signature", joined(2, signature)) }
        // The last digit of 64 bytes holds four bits that no encoder sets.
        let last = parts[2].last ?? "A"
        for digit in ["B", "h", "x"] where String(last) != digit {
            self.add("unused bits: \(digit)", joined(2, parts[2].dropLast() + digit))
        }
    }
}

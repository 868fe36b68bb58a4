import FerryCore
import Testing

@Suite struct DeviceTokenTests {
    @Test func `A token survives the way to hexadecimal digits and back`() throws {
        var generator = SeededGenerator(seed: 1)
        for length in 1...DeviceToken.maximumLength {
            let bytes = (0..<length).map { _ in UInt8.random(in: 0...255, using: &generator) }
            let token = try DeviceToken(bytes)
            #expect(try DeviceToken(hex: token.hex) == token)
            #expect(try DeviceToken(hex: token.hex.uppercased()).bytes == bytes)
        }
    }

    @Test func `Hexadecimal digits come out in lower case`() throws {
        #expect(try DeviceToken([0x00, 0xAB, 0xff]).hex == "00abff")
    }

    @Test(
        arguments: [
            ("", [.emptyToken]),
            ("abc", [.oddHex]),
            ("zz", [.notHex]),
            ("xyz", [.oddHex, .notHex]),
            (String(repeating: "g", count: 203), [.oddHex, .notHex, .tokenTooLong]),
            (String(repeating: "a", count: 202), [.tokenTooLong]),
            ("ab--cd", [.notHex]),
            ("é1", [.oddHex, .notHex]),
        ] as [(String, [PushValidationError.Code])]
    )
    func `Every fault of a token is named`(hex: String, codes: [PushValidationError.Code]) {
        let error = #expect(throws: PushValidationError.self) { try DeviceToken(hex: hex) }
        #expect(error?.faults.map(\.code) == codes)
    }

    @Test func `A token of bytes must not be empty nor longer than 100`() {
        let empty = #expect(throws: PushValidationError.self) { try DeviceToken([]) }
        #expect(empty?.faults.map(\.code) == [.emptyToken])
        let long = #expect(throws: PushValidationError.self) { try DeviceToken([UInt8](repeating: 1, count: 101)) }
        #expect(long?.faults.map(\.code) == [.tokenTooLong])
    }

    @Test func `Every byte is a hexadecimal digit or is not`() {
        for byte in UInt8.min...UInt8.max {
            let expected = Character(Unicode.Scalar(byte)).isASCII ? Character(Unicode.Scalar(byte)).hexDigitValue : nil
            #expect(DeviceToken.nibble(byte).map(Int.init) == expected)
        }
    }

    @Test func `Decoding refuses a target that is too small`() {
        let digits = Array("abcd".utf8)
        var target: [UInt8] = [0]
        let decoded = digits.withUnsafeBufferPointer { digits in
            target.withUnsafeMutableBufferPointer { DeviceToken.decode(hex: digits, into: $0) }
        }
        #expect(!decoded)
    }

    @Test func `The description does not show the token`() throws {
        #expect(try DeviceToken(hex: "0badf00d").description == "device token of 4 bytes")
    }

    @Test func `The hash is the same in every run`() {
        let hashes = [[], [1], Array(0..<8), Array(0..<32), Array(0..<33)].map { (bytes: [UInt8]) in
            bytes.withUnsafeBufferPointer(DeviceToken.stableHash)
        }
        #expect(hashes == Self.knownHashes)
    }

    @Test func `The hash spreads tokens that differ in one byte`() {
        var buckets = [Int](repeating: 0, count: 16)
        for position in 0..<32 {
            for value in UInt8.min...UInt8.max {
                var bytes = [UInt8](repeating: 7, count: 32)
                bytes[position] = value
                buckets[Int(bytes.withUnsafeBufferPointer(DeviceToken.stableHash) % 16)] += 1
            }
        }
        // The average is 512. Without a spread, one bucket would hold thousands.
        #expect(buckets.allSatisfy { 256...1024 ~= $0 }, "\(buckets)")
    }

    /// Fixed values: the shares of a migration must not change with an update.
    private static let knownHashes: [UInt32] = [1_507_794_777, 76_757_624, 908_050_944, 1_709_387_265, 2_446_745_230]

    @Test(
        arguments: [
            "<00fc13ad 85652412>", "<00FC13AD85652412>", "< 00fc13ad  85652412 >", "00fc13ad85652412\n",
            "00fc13ad85652412\r\n", "  00fc13ad 8565\t2412 ", "\n<00fc13ad 85652412>\n",
        ]
    )
    func `White space and the brackets of NSData are left out`(text: String) throws {
        #expect(try DeviceToken(hex: text).hex == "00fc13ad85652412")
    }

    @Test(arguments: ["<>", "<", "<00fc", "00fc>", "<0>", "<00-fc>"])
    func `Brackets around anything else are refused`(text: String) {
        #expect(throws: PushValidationError.self) { try DeviceToken(hex: text) }
    }

    @Test func `A mistyped digit is no Base64`() {
        let text = String(repeating: "00fc", count: 15) + "00fg"
        let error = #expect(throws: PushValidationError.self) { try DeviceToken(hex: text) }
        #expect(error?.faults.first?.message == "a device token has only hex digits")
    }

    @Test func `A token in Base64 is named as that`() {
        let text = "APwTrf94USK0rSiAmjQgmCNBJBQhNICXh45Xp8mR3o8="
        let error = #expect(throws: PushValidationError.self) { try DeviceToken(hex: text) }
        #expect(error?.faults.map(\.code) == [.notHex])
        #expect("\(error?.faults.first?.message ?? "")".contains("looks like Base64") == true)
    }

    @Test(
        arguments: [
            ("32 bytes", "is what Data says of itself in Swift"),
            (
                "dQw4w9WgXcQ:APA91bHun4MxP5egoKMwt2KZFBaFUH-1RYqx" + String(repeating: "aBc1_-", count: 18),
                "looks like a registration token of Firebase (FCM)"
            ),
            ("APA91bHun4MxP5egoKMwt2KZFBaFUH-1RYqx" + String(repeating: "aBc1_-", count: 18), "(FCM)"),
            ("ExponentPushToken[xxxxxxxxxxxxxxxxxxxxxx]", "is one of Expo"),
            ("ExpoPushToken[xxxxxxxxxxxxxxxxxxxxxx]", "is one of Expo"),
        ]
    )
    func `A token of another kind is named as that`(text: String, words: String) {
        let error = #expect(throws: PushValidationError.self) { try DeviceToken(hex: text) }
        #expect(error?.faults.contains { $0.code == .notHex && $0.message.contains(words) } == true, "\(error as Any)")
        #expect(error?.description.contains(text) == false)
    }

    @Test func `A description of NSData is named as that`() {
        let text = "{length = 32, bytes = 0x00fc13ad ff785122 ... 577c991d e8f00000 }"
        let error = #expect(throws: PushValidationError.self) { try DeviceToken(hex: text) }
        #expect(error?.faults.map(\.code) == [.notHex])
        #expect(error?.faults.first?.message.contains("NSData") == true)
    }
}

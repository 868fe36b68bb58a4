/// A text of another kind that was given as a device token. No part of it is quoted.
enum ForeignToken {
    /// `{length = 32, bytes = 0x00fc13ad 85652412 … 421348}`, the description of `NSData` since iOS 13.
    case shortDescription
    /// `32 bytes`, the description of Swift's `Data`.
    case length
    /// A registration token of Firebase Cloud Messaging.
    case fcm
    /// `ExponentPushToken[…]`
    case expo
    case base64

    init?(_ text: UnsafeBufferPointer<UInt8>) {
        if text.first == UInt8(ascii: "{") {
            self = .shortDescription
        } else if Self.isLength(text) {
            self = .length
        } else if Self.begins(text, "ExponentPushToken") || Self.begins(text, "ExpoPushToken") {
            self = .expo
        } else if Self.isFCM(text) {
            self = .fcm
        } else if Self.isBase64(text) {
            self = .base64
        } else {
            return nil
        }
    }

    var sentence: String {
        switch self {
        case .shortDescription:
            "the device token is what NSData says of itself since iOS 13, which leaves bytes out: the app must send the "
                + "bytes themselves, as hex digits"
        case .length:
            "the device token is what Data says of itself in Swift, only its length: the app must send the bytes themselves, "
                + "as hex digits"
        case .fcm:
            "the device token looks like a registration token of Firebase (FCM), which only Firebase can use: the app must send "
                + "the token of APNs (apnsToken), as hex digits"
        case .expo:
            "the device token is one of Expo, which only Expo's service can use: the app must send the token of APNs "
                + "(getDevicePushTokenAsync), as hex digits"
        case .base64: "the device token looks like Base64; write its bytes as hex digits"
        }
    }

    private static func begins(_ text: UnsafeBufferPointer<UInt8>, _ beginning: StaticString) -> Bool {
        let wanted = UnsafeBufferPointer(start: beginning.utf8Start, count: beginning.utf8CodeUnitCount)
        return text.starts(with: wanted)
    }

    /// Whether the text is a number and "bytes".
    private static func isLength(_ text: UnsafeBufferPointer<UInt8>) -> Bool {
        let digits = text.prefix { UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 }
        // Spaces may have been left out.
        let rest = text[digits.endIndex...].drop { $0 == UInt8(ascii: " ") }
        return !digits.isEmpty && (rest.elementsEqual("bytes".utf8) || rest.elementsEqual("byte".utf8))
    }

    /// The shortest text that is taken for a token of Firebase. They have 140 characters and more.
    private static let shortestFCM = 100

    /// Whether the text is long, in the alphabet of base64url, and has the one colon of Firebase's tokens, or begins as the
    /// older ones did.
    private static func isFCM(_ text: UnsafeBufferPointer<UInt8>) -> Bool {
        guard text.count >= self.shortestFCM else { return false }
        let colons = text.count { $0 == UInt8(ascii: ":") }
        return colons == 1 && text.allSatisfy { self.isBase64($0) || $0 == UInt8(ascii: ":") }
            || colons == 0 && self.begins(text, "APA91b")
    }

    /// The lengths of text that is taken for Base64: a token of 32 bytes has 43 characters, the longest has 136.
    private static let base64Lengths = 40...136

    /// Whether the text looks like a token in Base64 rather than in hexadecimal digits: of random Base64, two thirds of the
    /// characters are no such digit.
    private static func isBase64(_ text: UnsafeBufferPointer<UInt8>) -> Bool {
        self.base64Lengths ~= text.count && text.count(where: { DeviceToken.nibble($0) == nil }) * 4 > text.count
            && text.allSatisfy(self.isBase64)
    }

    /// Whether the byte is of the alphabet of Base64 or base64url.
    private static func isBase64(_ byte: UInt8) -> Bool { byte.isBase64 || "-_".utf8.contains(byte) }
}

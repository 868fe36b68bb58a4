internal import FerryOptions

/// A member of a line that Ferry does not know.
struct UnknownMember: Equatable {
    /// The name in quotes, or words in place of a long one.
    var quoted: String
    /// The known member that is probably meant, as part of a sentence. Nil if no known one is near.
    var meant: String?

    init(quoted: String) {
        self.quoted = quoted
    }

    init(_ name: String) {
        self.quoted = name.debugDescription
        // The name may be that of the header, such as "apns-push-type".
        let plain = name.hasPrefix(Self.headerPrefix) ? String(name.dropFirst(Self.headerPrefix.count)) : name
        let known = LineParser.Member.allCases.map { "\($0.name)" }
        let other = Self.others[plain.lowercased().filter(\.isLetter)]
        guard let meant = other ?? SimilarName.of(plain, among: known) else { return }
        self.meant = "do you mean \(meant)?"
    }

    private static let headerPrefix = "apns-"
    /// Members of other providers' interfaces in lower case, each with ours.
    private static let others = [
        "ttl": "expiration, in seconds since 1970", "expiry": "expiration", "expires": "expiration",
        "devicetoken": "token", "device": "token", "to": "token",
        "bundleid": "topic", "bundle": "topic", "id": "apnsId", "uuid": "apnsId", "tag": "ref",
        "notification": "payload", "message": "payload",
    ]
}

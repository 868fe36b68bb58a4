/// The result of an operator's command for one letter.
package enum LetterResult: String, Hashable, Codable, Sendable {
    case done
    /// The store has no such letter, for example because the letter was sent again, dropped or removed before.
    case missing
    /// The expiration has passed, so APNs would not deliver the notification. The letter stays until it is dropped.
    case expired
    /// The configuration no longer names the client. The letter stays.
    case unknownClient
    /// Too many notifications wait, the store takes no commits, another gateway has taken the store, or the gateway
    /// ends. The letter stays.
    case noRoom
}

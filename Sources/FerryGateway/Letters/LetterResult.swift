/// The result of an operator's command for one letter.
package enum LetterResult: String, Hashable, Codable, Sendable {
    case done
    /// It was sent again, dropped or removed before.
    case missing
    /// Its expiration has passed, so APNs would not deliver it. It stays until it is dropped.
    case expired
    /// The configuration does not name its client any more. It stays.
    case unknownClient
    /// Too many notifications wait, the store is in trouble, or the gateway ends. It stays.
    case noRoom
}

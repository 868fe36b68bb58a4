/// A keyed hash of 128 bits over the topic, the device token and the payload of a notification.
///
/// The owner chooses the hash and its secret key, so that no client can make two notifications look equal. Identifier,
/// command, priority and expiration are not hashed, because old clients change them in a copy.
struct ReplayKey: Hashable, Sendable {
    var high: UInt64
    var low: UInt64

    /// The lower half of the bits is enough for a hash table, because the key is a keyed hash already.
    func hash(into hasher: inout Hasher) {
        hasher.combine(self.low)
    }
}

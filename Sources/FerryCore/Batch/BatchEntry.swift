/// One notification of a ``BatchStorage``: 32 bytes that say where its bytes lie in the arena and what they are.
///
/// The bytes stand in the arena from `offset` on, without gaps, in this order:
///
/// ```
/// device token | payload | topic | collapse id | apns-id (16 bytes, only with the flag)
/// ```
package struct BatchEntry {
    /// The caller's tag; for an awaited entry, the provider's own.
    package var tag: UInt64
    /// Where the device token begins in the arena.
    package var offset: UInt32
    /// UNIX seconds; has a meaning only with ``Fields/expiration``.
    package var expiration: UInt32
    /// A hash of the device token that is stable between runs.
    package var tokenHash: UInt32
    package var payloadLength: UInt16
    package var tokenLength: UInt8
    package var topicLength: UInt8
    package var collapseIDLength: UInt8
    /// The raw value of the ``Priority``; 0 when none was given.
    package var priority: UInt8
    /// The ``PushType/code``; 0 when none was given.
    package var pushType: UInt8
    /// What `append` wrote. Never changes afterwards.
    package var fields: Fields
    /// What the provider that took the entry notes about it. Belongs to that provider.
    package var marks: Marks
    /// How often the entry was retried because a status asked for it.
    package var retries: UInt8

    package struct Fields: OptionSet {
        package let rawValue: UInt8
        package init(rawValue: UInt8) { self.rawValue = rawValue }

        package static let expiration = Fields(rawValue: 1 << 0)
        package static let apnsID = Fields(rawValue: 1 << 1)
        /// Someone awaits this entry in `send`: its tag is the provider's, its outcome goes to the waiter.
        package static let awaited = Fields(rawValue: 1 << 2)
    }

    package struct Marks: OptionSet {
        package let rawValue: UInt8
        package init(rawValue: UInt8) { self.rawValue = rawValue }

        /// The outcome was given. What is still sent of this entry is a repair.
        package static let settled = Marks(rawValue: 1 << 0)
        /// An earlier copy may have arrived.
        package static let tainted = Marks(rawValue: 1 << 1)
    }
}

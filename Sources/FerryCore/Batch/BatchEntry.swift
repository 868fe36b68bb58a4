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
    /// UNIX seconds; has a meaning only with ``Fields/hasExpiration``.
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

    /// Which of the optional fields there are.
    @frozen
    package struct Fields: Equatable, Sendable {
        package var rawValue: UInt8

        @inlinable
        package init(rawValue: UInt8 = 0) { self.rawValue = rawValue }

        package static let awaited = Fields(rawValue: 1 << 2)

        @inlinable @inline(__always)
        package var hasExpiration: Bool {
            get { self.rawValue & 1 << 0 != 0 }
            set { self.rawValue = self.rawValue & ~(1 << 0) | (newValue ? 1 << 0 : 0) }
        }

        @inlinable @inline(__always)
        package var hasAPNSID: Bool {
            get { self.rawValue & 1 << 1 != 0 }
            set { self.rawValue = self.rawValue & ~(1 << 1) | (newValue ? 1 << 1 : 0) }
        }

        /// Someone awaits this entry in `send`: its tag is the provider's, its outcome goes to the waiter.
        @inlinable @inline(__always)
        package var isAwaited: Bool {
            get { self.rawValue & 1 << 2 != 0 }
            set { self.rawValue = self.rawValue & ~(1 << 2) | (newValue ? 1 << 2 : 0) }
        }
    }

    // Not an option set: its methods would be generic calls across modules, and these are asked for every notification.
    @frozen
    package struct Marks: Equatable, Sendable {
        package var rawValue: UInt8

        @inlinable
        package init(rawValue: UInt8 = 0) { self.rawValue = rawValue }

        /// The outcome was given. What is still sent of this entry is a repair.
        @inlinable @inline(__always)
        package var isSettled: Bool {
            get { self.rawValue & 1 << 0 != 0 }
            set { self.rawValue = self.rawValue & ~(1 << 0) | (newValue ? 1 << 0 : 0) }
        }

        /// An earlier copy may have arrived.
        @inlinable @inline(__always)
        package var isTainted: Bool {
            get { self.rawValue & 1 << 1 != 0 }
            set { self.rawValue = self.rawValue & ~(1 << 1) | (newValue ? 1 << 1 : 0) }
        }

        /// How often it was sent again after its outcome because the peer refused something without a name: 0 to 3.
        @inlinable
        package var suspicions: UInt8 {
            get { self.rawValue >> 2 & 3 }
            set { self.rawValue = self.rawValue & ~(3 << 2) | min(newValue, 3) << 2 }
        }
    }
}

/// One notification of a ``BatchStorage``: 32 bytes that describe the notification's bytes in the arena.
///
/// The bytes stand in the arena from `offset` on, without gaps, in this order:
///
/// ```
/// device token or channel id | payload | topic | collapse id | apns-id (16 bytes, only with the flag)
/// ```
package struct BatchEntry {
    /// The caller's tag; for an awaited entry, the provider's own.
    package var tag: UInt64
    /// The offset of the device token in the arena.
    package var offset: UInt32
    /// UNIX seconds. Meaningless without ``Fields/hasExpiration``.
    package var expiration: UInt32
    /// A hash of the device token that is stable between runs.
    package var tokenHash: UInt32
    package var payloadLength: UInt16
    package var tokenLength: UInt8
    package var topicLength: UInt8
    package var collapseIDLength: UInt8
    /// The raw value of the ``Priority``; 0 without a priority.
    package var priority: UInt8
    /// The ``PushType/code``; 0 without a push type.
    package var pushType: UInt8
    /// The optional fields that `append` wrote. A provider of two protocols adds an expiration where there is none; nothing else
    /// changes afterwards.
    package var fields: Fields
    /// Notes of the provider that took the entry. They belong to that provider.
    package var marks: Marks
    /// The number of retries that a status asked for.
    package var retries: UInt8
    /// The place among the notifications that were submitted with it. The provider that takes the entry sets it.
    package var number: UInt16 = 0

    /// The optional fields that the entry has.
    @frozen
    package struct Fields: Equatable, Sendable {
        package var rawValue: UInt8

        @inlinable
        package init(rawValue: UInt8 = 0) { self.rawValue = rawValue }

        package static let awaited = Fields(rawValue: 1 << 2)
        package static let broadcast = Fields(rawValue: 1 << 3)

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

        /// Whether a caller awaits this entry in `send`. The tag is then the provider's own, and the caller gets the
        /// outcome.
        @inlinable @inline(__always)
        package var isAwaited: Bool {
            get { self.rawValue & 1 << 2 != 0 }
            set { self.rawValue = self.rawValue & ~(1 << 2) | (newValue ? 1 << 2 : 0) }
        }

        /// Whether the entry goes to a broadcast channel: its token is the channel's identifier.
        @inlinable @inline(__always)
        package var isBroadcast: Bool { self.rawValue & 1 << 3 != 0 }

        package func union(_ other: Fields) -> Fields { Fields(rawValue: self.rawValue | other.rawValue) }
    }

    // Not an option set: its methods would be generic calls across modules, for every notification.
    @frozen
    package struct Marks: Equatable, Sendable {
        package var rawValue: UInt8

        @inlinable
        package init(rawValue: UInt8 = 0) { self.rawValue = rawValue }

        /// Whether the outcome was given. Later copies of this entry are repairs.
        @inlinable @inline(__always)
        package var isSettled: Bool {
            get { self.rawValue & 1 << 0 != 0 }
            set { self.rawValue = self.rawValue & ~(1 << 0) | (newValue ? 1 << 0 : 0) }
        }

        /// Whether an earlier copy may have arrived.
        @inlinable @inline(__always)
        package var isTainted: Bool {
            get { self.rawValue & 1 << 1 != 0 }
            set { self.rawValue = self.rawValue & ~(1 << 1) | (newValue ? 1 << 1 : 0) }
        }

        /// The number of times, 0 to 3, that the entry was sent again because of an error that named no notification.
        /// Only times after its outcome, or after the probe at the end of a run, count.
        @inlinable
        package var suspicions: UInt8 {
            get { self.rawValue >> 2 & 3 }
            set { self.rawValue = self.rawValue & ~(3 << 2) | min(newValue, 3) << 2 }
        }

        /// Whether the entry comes back from a protocol that cannot deliver it now.
        @inlinable
        package var wasRecalled: Bool {
            get { self.rawValue & 1 << 5 != 0 }
            set { self.rawValue = self.rawValue & ~(1 << 5) | (newValue ? 1 << 5 : 0) }
        }

        /// Whether the entry went over from a protocol that could not deliver it to the other one.
        @inlinable
        package var wentOver: Bool {
            get { self.rawValue & 1 << 4 != 0 }
            set { self.rawValue = self.rawValue & ~(1 << 4) | (newValue ? 1 << 4 : 0) }
        }
    }
}

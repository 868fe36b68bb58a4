/// The first byte of a notification on the wire.
///
/// Notifications of all three may follow each other on one connection.
package enum Command: UInt8, CaseIterable, Sendable {
    /// Token and payload, nothing else. A gateway cannot say which one it refuses.
    case simple = 0
    /// Identifier and expiration, then as ``simple``.
    case enhanced = 1
    /// Items in any order, in a frame. The only one with a priority.
    case frame = 2
}

/// The items of a ``Command/frame``, as Apple numbers them.
package enum Item {
    package static let deviceToken: UInt8 = 1
    package static let payload: UInt8 = 2
    package static let identifier: UInt8 = 3
    package static let expiration: UInt8 = 4
    package static let priority: UInt8 = 5

    /// `u8 item, u16 length`
    package static let headerLength = 3
}

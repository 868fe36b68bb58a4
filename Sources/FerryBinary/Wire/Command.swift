extension BinaryOptions {
    /// The first byte of a notification on the wire.
    ///
    /// Notifications of all three may follow each other on one connection.
    @nonexhaustive
    public enum Command: UInt8, Sendable, Hashable, CaseIterable {
        /// Command 0: token and payload, nothing else. It has no identifier, so an error can never be traced to a
        /// notification.
        case simple = 0
        /// Command 1: identifier and expiration, then as ``simple``. It has no priority.
        case enhanced = 1
        /// Command 2: items in a frame, in any order. Ferry writes all five: 3, 1, 2, 4, 5.
        case frame = 2
    }
}

package typealias Command = BinaryOptions.Command

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

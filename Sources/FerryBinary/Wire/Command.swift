extension BinaryOptions {
    /// The first byte of a notification of the binary protocol.
    ///
    /// One connection can carry notifications of all three commands.
    @nonexhaustive
    public enum Command: UInt8, Sendable, Hashable, CaseIterable {
        /// Command 0: token and payload only. It has no identifier, so an error can never be traced to a notification.
        case simple = 0
        /// Command 1: identifier, expiration, token and payload. It has no priority.
        case enhanced = 1
        /// Command 2: a frame of items in any order. Ferry writes all five, in the order 3, 1, 2, 4, 5.
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

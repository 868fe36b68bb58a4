internal import FerryCore

/// The choice of the event loop that sends the notifications of a device.
enum LoopChoice {
    /// Returns the number of the loop for a device, 0 to `count` - 1, by the hash of its token.
    ///
    /// The upper bits of a product decide. The binary machine chooses the lane, and so the connection, by the remainder
    /// of the hash (`BinaryClient.distribute`), and a migration chooses the side by ``MigrationRule/position(of:)``. If two
    /// choices used the same bits, some connections would have no devices. The HTTP/2 machine does not choose by the
    /// device.
    ///
    /// Source: Knuth, "The Art of Computer Programming", volume 3, 6.4: multiplicative hashing with the golden ratio.
    static func loop(ofHash tokenHash: UInt32, among count: Int) -> Int {
        let product = tokenHash &* 0x9e37_79b9
        return Int((UInt64(product) * UInt64(count)) >> 32)
    }
}

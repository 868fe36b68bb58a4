/// The conversion between the identifier of a notification and its sequence number.
///
/// A connection numbers its notifications with 64 bits, so the arithmetic never wraps. The identifier on the wire is
/// `sequence mod (2³² − 1) + 1`. It is never 0, because Apple's gateway sent 0 for "unknown".
package enum Identifier {
    static let period = UInt64(UInt32.max)

    package static func of(_ sequence: UInt64) -> UInt32 {
        UInt32(truncatingIfNeeded: sequence % self.period + 1)
    }

    /// Returns the latest sequence number in `issued` that has this identifier; nil when the connection never used it.
    static func sequence(of identifier: UInt32, in issued: Range<UInt64>) -> UInt64? {
        guard identifier != 0, let last = issued.last else { return nil }
        let residue = UInt64(identifier) - 1
        let distance = (last % self.period + self.period - residue) % self.period
        guard distance < UInt64(issued.count) else { return nil }
        return last - distance
    }
}

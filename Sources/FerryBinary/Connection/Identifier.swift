/// The identifier of a notification on the wire, and the sequence number behind it.
///
/// A connection numbers what it writes with 64 bits, so its arithmetic never wraps. On the wire stands
/// `sequence mod (2³² − 1) + 1`: 1 to 2³² − 1, never 0, which Apple's gateway sent for "unknown".
package enum Identifier {
    static let period = UInt64(UInt32.max)

    package static func of(_ sequence: UInt64) -> UInt32 {
        UInt32(truncatingIfNeeded: sequence % self.period + 1)
    }

    /// The latest sequence number in `issued` that has this identifier; nil when it was never issued there.
    static func sequence(of identifier: UInt32, in issued: Range<UInt64>) -> UInt64? {
        guard identifier != 0, let last = issued.last else { return nil }
        let residue = UInt64(identifier) - 1
        let distance = (last % self.period + self.period - residue) % self.period
        guard distance < UInt64(issued.count) else { return nil }
        return last - distance
    }
}

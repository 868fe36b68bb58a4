package import FerryPlatform

/// UNIX time, the form in which both protocols and Apple's JSON write a point in time.
///
/// The numbers stay within the years 1 to 9999, so any date can be converted.
extension Date {
    /// 0001-01-01T00:00:00Z to 9999-12-31T23:59:59.999Z.
    private static let unixSecondsRange: ClosedRange<Double> = -62_135_596_800...253_402_300_799.999
    /// The same range in milliseconds.
    package static let unixMillisecondsRange: ClosedRange<Int64> = -62_135_596_800_000...253_402_300_799_999

    package init(unixMilliseconds: Int64) {
        self.init(timeIntervalSince1970: Double(unixMilliseconds) / 1000)
    }

    /// Whole seconds since 1970-01-01T00:00:00Z, rounded down.
    package var unixSeconds: Int64 {
        Int64(Self.clamped(self.timeIntervalSince1970).rounded(.down))
    }

    /// Milliseconds since 1970-01-01T00:00:00Z, rounded to the nearest.
    package var unixMilliseconds: Int64 {
        Int64((Self.clamped(self.timeIntervalSince1970) * 1000).rounded())
    }

    /// Returns the nearest time in the range; 0 for a date that is not a number. `Int64` would trap on it.
    private static func clamped(_ seconds: Double) -> Double {
        seconds.isNaN ? 0 : min(max(seconds, self.unixSecondsRange.lowerBound), self.unixSecondsRange.upperBound)
    }
}

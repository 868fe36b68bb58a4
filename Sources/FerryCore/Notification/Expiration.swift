public import FerryPlatform

/// The time until which APNs keeps a notification for a device that it cannot reach: whole seconds since the UNIX
/// epoch, UTC.
///
/// The binary protocol has 32 bits for it (item 4), so the range ends in the year 2106 in both protocols.
public struct Expiration: Hashable, Sendable {
    /// Whole seconds since 1970-01-01T00:00:00Z; 0 is ``once``.
    public let epochSeconds: UInt32

    /// - Parameter epochSeconds: whole seconds since 1970-01-01T00:00:00Z; 0 is ``once``.
    public init(epochSeconds: UInt32) {
        self.epochSeconds = epochSeconds
    }

    /// - Throws: ``PushValidationError`` when `seconds` is negative or does not fit into 32 bits.
    public init(validating seconds: Int64) throws(PushValidationError) {
        guard let seconds = UInt32(exactly: seconds) else {
            throw PushValidationError([
                .init(.badExpiration, "the expiration \(seconds) is not within 0…4294967295 seconds since 1970")
            ])
        }
        self.epochSeconds = seconds
    }

    /// APNs tries once and stores nothing.
    public static let once = Expiration(epochSeconds: 0)

    /// Returns `date` as an expiration, rounded up to a whole second.
    ///
    /// Earlier dates become 1970-01-01T00:00:01Z, a time that has passed, and not ``once``. Later dates become
    /// 2106-02-07T06:28:15Z, the last second of 32 bits: `.at(.distantFuture)` is that time.
    ///
    /// APNs keeps a notification for 30 days at most. Ferry's gateway takes 2^31 seconds (2038-01-19T03:14:08Z) and more
    /// for a mistake of the client, and passes them on as ``once``.
    public static func at(_ date: Date) -> Expiration {
        let end = date.timeIntervalSince1970.rounded(.up)
        return Expiration(epochSeconds: end > 1 ? UInt32(min(end, Double(UInt32.max))) : 1)
    }

    /// Returns the time `duration` from now by the system's clock, rounded up to a whole second; at the latest the last one that
    /// ``at(_:)`` returns.
    public static func after(_ duration: Duration) -> Expiration {
        let seconds = Double(duration.components.seconds) + Double(duration.components.attoseconds) * 1e-18
        return .at(Date().addingTimeInterval(seconds))
    }
}

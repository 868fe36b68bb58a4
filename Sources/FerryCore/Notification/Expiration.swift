#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif

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

    /// - Throws: ``ValidationError`` when `seconds` is negative or does not fit into 32 bits.
    public init(validating seconds: Int64) throws(ValidationError) {
        guard let seconds = UInt32(exactly: seconds) else {
            throw ValidationError([
                .init(.badExpiration, "the expiration \(seconds) is not within 0…4294967295 seconds since 1970")
            ])
        }
        self.epochSeconds = seconds
    }

    /// APNs tries once and stores nothing.
    public static let once = Expiration(epochSeconds: 0)

    /// Returns the time `duration` from now by the system's clock, rounded up to a whole second; at the latest in 2106.
    public static func after(_ duration: Duration) -> Expiration {
        let now = Date().timeIntervalSince1970
        // A `Double` holds every second of this range exactly, and the sum cannot overflow.
        let end = now + Double(duration.components.seconds) + Double(duration.components.attoseconds) * 1e-18
        return Expiration(epochSeconds: UInt32(min(max(end.rounded(.up), 0), Double(UInt32.max))))
    }
}

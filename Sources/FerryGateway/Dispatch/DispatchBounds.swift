package import NIOCore

/// The limits and times of the way to APNs.
package enum DispatchBounds {
    /// The notifications that may wait for their last answer, all clients together.
    package static let jobs = 1_000_000
    /// Their bytes, device tokens and payloads.
    package static let bytes = 512 << 20
    /// The notifications that an upstream is offered at once.
    static let batch = 256
    /// The rejections that may still be told.
    package static let rejections = 1_000_000

    /// How long a notification goes out again when it has no expiration: an outage of APNs must not lose it.
    package static let lifetime: TimeAmount = .hours(1)
    /// The back-off doubles from the first to the last.
    package static let firstRetry: TimeAmount = .seconds(1)
    package static let lastRetry: TimeAmount = .minutes(1)
    /// The same for a device that gets too many notifications.
    package static let firstBusyRetry: TimeAmount = .seconds(10)
    package static let lastBusyRetry: TimeAmount = .minutes(5)
    /// How often a notification goes out again that may have arrived.
    package static let unknownCopies = 1
    /// The time that its copy waits for another connection: an outage of APNs may last that long.
    static let otherConnection = Self.lifetime
}

package import NIOCore

/// The time of an input. A machine never asks a clock.
package struct Moment: Sendable {
    /// A clock that never jumps. Every deadline except expiration runs on it.
    package var monotonic: NIODeadline
    /// Seconds since the UNIX epoch, by the system's clock. Only expiration runs on it.
    package var epochSeconds: UInt32

    package init(monotonic: NIODeadline, epochSeconds: UInt32) {
        self.monotonic = monotonic
        self.epochSeconds = epochSeconds
    }

    /// Returns the whole seconds since `start`, rounded up, for messages.
    package func seconds(since start: NIODeadline) -> Int64 { Self.seconds(self.monotonic - start) }

    /// Returns the whole seconds until `end`, rounded up, for messages.
    package func seconds(until end: NIODeadline) -> Int64 { Self.seconds(end - self.monotonic) }

    private static func seconds(_ time: TimeAmount) -> Int64 {
        let (seconds, rest) = max(.zero, time).nanoseconds.quotientAndRemainder(dividingBy: 1_000_000_000)
        return rest > 0 ? seconds + 1 : seconds
    }
}

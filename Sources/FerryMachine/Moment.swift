package import NIOCore

/// The time of an input. A machine never asks a clock.
package struct Moment: Sendable {
    /// A clock that never jumps. Every deadline except expiration runs on it.
    package var monotonic: NIODeadline
    /// The system's clock, in seconds since the UNIX epoch. Of the deadlines, only expiration runs on it. Dates that are
    /// stored or shown have it, too.
    package var epochSeconds: UInt32
    /// A clock like ``monotonic`` that also runs while the computer sleeps. Only the length of a silence is measured
    /// with it.
    package var boot: NIODeadline

    /// - Parameter boot: see ``boot``; nil if the computer has not slept.
    package init(monotonic: NIODeadline, epochSeconds: UInt32, boot: NIODeadline? = nil) {
        self.monotonic = monotonic
        self.epochSeconds = epochSeconds
        self.boot = boot ?? monotonic
    }

    /// Returns the seconds since `start` for messages, rounded up. Below 10 s they are in tenths, as in "0.5".
    package func seconds(since start: NIODeadline) -> String {
        let time = self.monotonic - start
        let tenths = max(1, Self.roundedUp(time, to: .milliseconds(100)))
        guard tenths < 100, !tenths.isMultiple(of: 10) else { return "\(Self.roundedUp(time, to: .seconds(1)))" }
        return "\(tenths / 10).\(tenths % 10)"
    }

    /// Returns the whole seconds until `end`, rounded up, for messages.
    package func seconds(until end: NIODeadline) -> Int64 { Self.roundedUp(end - self.monotonic, to: .seconds(1)) }

    private static func roundedUp(_ time: TimeAmount, to unit: TimeAmount) -> Int64 {
        let (count, rest) = max(.zero, time).nanoseconds.quotientAndRemainder(dividingBy: unit.nanoseconds)
        return rest > 0 ? count + 1 : count
    }
}

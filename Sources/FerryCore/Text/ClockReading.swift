package import FerryPlatform

/// The time of this machine's clock, for messages about something that is too old or too new.
///
/// Such a message cannot know whether the clock or the other side is wrong. It shows the time, so that the reader sees
/// it.
package struct ClockReading: Sendable, CustomStringConvertible {
    private let time: Date

    package init(_ time: Date = .now) { self.time = time }

    /// "this machine's clock says 2026-11-22T15:39:56Z".
    package var description: String { "this machine's clock says \(self.time.formatted(.iso8601))" }
}

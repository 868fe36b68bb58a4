internal import ArgumentParser
internal import FerryPlatform

/// The time of an option: `2020-03-31`, `2020-03-31T12:00:00Z` with any offset, or UNIX seconds. UTC if no zone is
/// given.
struct Since: ExpressibleByArgument, Equatable {
    /// The first second that counts.
    var date: Date

    init?(argument: String) {
        if let seconds = UInt32(argument) {
            self.date = Date(timeIntervalSince1970: Double(seconds))
            return
        }
        guard let date = Self.date(argument), let seconds = UInt32(exactly: date.timeIntervalSince1970.rounded(.up))
        else { return nil }
        self.date = Date(timeIntervalSince1970: Double(seconds))
    }

    private static func date(_ text: String) -> Date? {
        let day = Date.ISO8601FormatStyle().year().month().day()
        let time = day.time(includingFractionalSeconds: false)
        let styles = [Date.ISO8601FormatStyle(), Date.ISO8601FormatStyle(includingFractionalSeconds: true), time, day]
        // A style parses a prefix and ignores the rest, so the style of a day would also accept a whole date with time.
        let isDay = text.utf8.count == "2020-03-31".utf8.count
        return (isDay ? [day] : Array(styles.dropLast())).lazy.compactMap { try? $0.parse(text) }.first
    }
}

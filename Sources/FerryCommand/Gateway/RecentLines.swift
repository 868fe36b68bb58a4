internal import FerryCore
internal import NIOCore

/// The lines of a log that were written in the last minute.
final class RecentLines: Sendable {
    private static let lifetime: TimeAmount = .minutes(1)
    /// The largest number of kept lines. After so many lines in a minute, a further line says nothing new.
    private static let limit = 100

    private let times = Locked<[String: NIODeadline]>([:])

    /// Adds a line. Returns false if it was added in the last minute, or if too many lines were.
    func add(_ line: String, now: NIODeadline) -> Bool {
        self.times.withLock { times in
            if let last = times[line], now < last + Self.lifetime { return false }
            if times.count >= Self.limit { times = times.filter { now < $0.value + Self.lifetime } }
            guard times.count < Self.limit else { return false }
            times[line] = now
            return true
        }
    }
}

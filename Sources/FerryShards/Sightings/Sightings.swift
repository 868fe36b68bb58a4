internal import DequeModule
internal import FerryGateway
internal import NIOCore

/// The clients that a process has seen in its shards, and the times to report each of them.
///
/// A client that the balancer sends to two shards is found by the reports of both.
///
/// ```
///   first connection ──▶ new ──▶ reported, again after a minute ──▶ no connection since ──▶ forgotten
/// ```
struct Sightings {
    /// A client in a shard.
    struct Sighting: Hashable {
        var client: ClientAddress
        var shard: Int
    }

    private struct Entry {
        var connections = 0
        /// Whether a connection has opened since the last report.
        var isNews = true
    }

    static let interval: TimeAmount = .seconds(60)
    /// The largest number of sightings. Further sightings are not reported.
    static let limit = 65_536
    /// The largest number of sightings in a report.
    static let batch = 1000

    private var entries: [Sighting: Entry] = [:]
    /// The sightings to report now. Each sighting of `entries` is here or in `reported`, once.
    private var due: Deque<Sighting> = []
    /// The reported sightings, in the order of their next reports.
    private var reported: Deque<(next: NIODeadline, sighting: Sighting)> = []

    mutating func opened(_ sighting: Sighting) {
        if self.entries[sighting] == nil {
            guard self.entries.count < Self.limit else { return }
            self.due.append(sighting)
        }
        self.entries[sighting, default: Entry()].connections += 1
        self.entries[sighting]?.isNews = true
    }

    mutating func closed(_ sighting: Sighting) {
        guard let entry = self.entries[sighting], entry.connections > 0 else { return }
        self.entries[sighting]?.connections -= 1
    }

    /// Removes and returns the next report. A report has each client once, because one statement can write a row only
    /// once. A sighting of the same client in another shard is in a later report.
    mutating func takeReport(now: NIODeadline) -> [Sighting] {
        while self.due.count < Self.batch, let first = self.reported.first, first.next <= now {
            self.reported.removeFirst()
            if let entry = self.entries[first.sighting], entry.connections > 0 || entry.isNews {
                self.due.append(first.sighting)
            } else {
                self.entries[first.sighting] = nil
            }
        }
        var report: [Sighting] = []
        var later: [Sighting] = []
        var clients: Set<ClientAddress> = []
        while report.count < Self.batch, let sighting = self.due.popFirst() {
            guard clients.insert(sighting.client).inserted else {
                later.append(sighting)
                continue
            }
            report.append(sighting)
            self.entries[sighting]?.isNews = false
            self.reported.append((now + Self.interval, sighting))
        }
        self.due.prepend(contentsOf: later)
        return report
    }
}

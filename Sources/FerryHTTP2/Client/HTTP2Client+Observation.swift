package import FerryCore
internal import FerryMachine
package import NIOCore

/// The figures of the client for an observer.
extension HTTP2Client {
    package mutating func countPings() { self.countsPings = true }

    /// Takes over the counts of connections that are gone. Without an observer nobody takes them, so they are dropped.
    mutating func keep(_ pings: ProviderActivity.Pings) {
        if self.countsPings { self.pings.add(pings) }
    }

    package mutating func takePings() -> ProviderActivity.Pings {
        var pings = self.connections.takePings()
        guard !self.pings.isEmpty else { return pings }
        pings.add(self.pings)
        self.pings = ProviderActivity.Pings()
        return pings
    }

    package mutating func measureTimes() { self.outcomes.measureTimes() }

    package mutating func takeTimes(until now: NIODeadline) -> ProviderActivity.Times {
        self.outcomes.takeTimes(over: .http2, until: now)
    }
}

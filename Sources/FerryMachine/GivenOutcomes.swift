package import FerryCore

/// Outcomes on their way from a machine to those who wait for them.
package struct GivenOutcomes {
    package private(set) var records: [OutcomeRecord] = []
    /// Those of notifications that someone awaits.
    package private(set) var awaited: [OutcomeRecord] = []

    package init() {}

    package var isEmpty: Bool { self.records.isEmpty && self.awaited.isEmpty }

    /// Exchanges them for those of `log`, which goes on with their memory.
    package mutating func exchange(with log: inout OutcomeLog) {
        swap(&self.records, &log.records)
        swap(&self.awaited, &log.awaited)
    }

    package mutating func removeAll() {
        self.records.removeAll(keepingCapacity: true)
        self.awaited.removeAll(keepingCapacity: true)
    }
}

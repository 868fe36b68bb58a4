package import FerryCore

/// Outcomes on their way from a machine to their readers.
package struct GivenOutcomes {
    package private(set) var records: [OutcomeRecord] = []
    /// The outcomes of awaited notifications.
    package private(set) var awaited: [OutcomeRecord] = []

    package init() {}

    package var isEmpty: Bool { self.records.isEmpty && self.awaited.isEmpty }

    /// Exchanges the outcomes with those of `log`. The log goes on with the memory of these arrays.
    package mutating func exchange(with log: inout OutcomeLog) {
        swap(&self.records, &log.records)
        swap(&self.awaited, &log.awaited)
    }

    package mutating func removeAll() {
        self.records.removeAll(keepingCapacity: true)
        self.awaited.removeAll(keepingCapacity: true)
    }
}

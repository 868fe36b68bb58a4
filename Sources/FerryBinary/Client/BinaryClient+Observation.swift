package import FerryCore
internal import FerryMachine
package import NIOCore

/// The figures of the client for an observer.
extension BinaryClient {
    package mutating func measureTimes() { self.outcomes.measureTimes() }

    package mutating func takeTimes(until now: NIODeadline) -> ProviderActivity.Times {
        self.outcomes.takeTimes(over: .binary, until: now)
    }
}

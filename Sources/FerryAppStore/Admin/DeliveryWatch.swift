package import FerryAdmin
package import FerryCore
internal import FerryPlatform
internal import NIOCore

/// The attempts of deliveries to one destination, for operators. Any thread may use it.
package final class DeliveryWatch: Sendable {
    package struct Figures: Hashable, Sendable {
        /// Attempts that succeeded.
        package var delivered = 0
        /// Attempts that failed.
        package var failed = 0
        /// Deliveries that were given up.
        package var setAside = 0
        package var underWay = 0
        /// The attempts that failed since the last success.
        package var failuresInARow = 0
        /// The times of attempts that succeeded.
        package var times = TimeHistogram()
        /// The times of attempts that succeeded in the last one to two minutes.
        package var recent = TimeHistogram()
        package var lastFailure: AlarmLine?

        package init() {}
    }

    private struct State {
        var figures = Figures()
        var recent = RecentTimes()
    }

    /// The name of the destination.
    package let name: String
    private let state = Locked(State())

    package init(_ name: String) { self.name = name }

    package var figures: Figures {
        let now = Self.now
        return self.state.withLock { state in
            var figures = state.figures
            figures.recent = state.recent.times(now: now)
            return figures
        }
    }

    func setAside() { self.state.withLock { $0.figures.setAside += 1 } }

    /// Makes an attempt, and counts it.
    func watch(_ attempt: () async throws -> Void) async throws {
        let start = Self.now
        self.state.withLock { $0.figures.underWay += 1 }
        do {
            try await attempt()
            let now = Self.now
            self.state.withLock { state in
                state.figures.underWay -= 1
                state.figures.delivered += 1
                state.figures.failuresInARow = 0
                state.figures.times.add(nanoseconds: now - start)
                state.recent.add(nanoseconds: now - start, now: now)
            }
        } catch {
            let reason = (error as? DeliveryFailure)?.description ?? "the handler threw \(type(of: error))"
            let line = AlarmLine(at: Int(Date.now.timeIntervalSince1970), reason)
            self.state.withLock { state in
                state.figures.underWay -= 1
                state.figures.failed += 1
                state.figures.failuresInARow += 1
                state.figures.lastFailure = line
            }
            throw error
        }
    }

    /// The time of a monotonic clock, in nanoseconds.
    private static var now: Int64 { Int64(clamping: NIODeadline.now().uptimeNanoseconds) }
}

extension AppStoreDestination {
    /// Returns a destination with the same name and the same code for deliveries. `watch` counts each attempt.
    func watched(by watch: DeliveryWatch) -> AppStoreDestination {
        let deliver = self.deliver
        return AppStoreDestination(name: self.name, needsPost: self.needsPost) { delivery in
            try await watch.watch { try await deliver(delivery) }
        }
    }
}

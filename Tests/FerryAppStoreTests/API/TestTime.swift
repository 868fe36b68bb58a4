import FerryAppStore
import FerryCore
import Foundation

/// A time in which waiting takes none.
final class TestTime: Sendable {
    private struct State {
        var elapsed: Duration = .zero
        var waits: [Duration] = []
    }

    private let start: Date
    private let state = Locked(State())

    init(_ start: Date = .now) { self.start = start }

    var waits: [Duration] { self.state.withLock { $0.waits } }
    var now: Date { self.start + Double(self.state.withLock { $0.elapsed }.components.seconds) }

    var time: ServerTime {
        ServerTime(
            now: { self.now },
            elapsed: { self.state.withLock { $0.elapsed } },
            wait: { duration in
                try Task.checkCancellation()
                self.state.withLock { state in
                    state.elapsed += duration
                    state.waits.append(duration)
                }
            }
        )
    }
}

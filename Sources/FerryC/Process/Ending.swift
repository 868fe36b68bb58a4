internal import FerryCore

/// The shutdown of a provider that goes on after its handle is gone, or at the end of the process. Any thread.
final class Ending: Sendable {
    private struct State {
        var hasBegun = false
        var isOver = false
    }

    /// How long it may take.
    let limit: Duration
    private let backend: Backend
    private let before: (undelivered: Int, uncertain: Int)
    private let state = Monitor(State())

    init(_ backend: Backend, within limit: Duration) {
        self.backend = backend
        self.limit = limit
        self.before = backend.losses
    }

    /// Begins, unless it has. `receive` is called once, on any thread, when everything has its outcome.
    func begin(receive: @escaping @Sendable () -> Void = {}) {
        let isFirst = self.state.withLock { state in
            defer { state.hasBegun = true }
            return !state.hasBegun
        }
        guard isFirst else { return }
        self.backend.shutDown(within: self.limit) {
            self.state.withLock { $0.isOver = true }
            self.state.signal()
            receive()
        }
    }

    /// Waits until everything has its outcome, for at most `milliseconds`.
    func wait(milliseconds: Int64) { _ = self.state.wait(milliseconds: milliseconds) { $0.isOver } }

    /// How many notifications were not delivered since, or may not have been.
    var losses: (undelivered: Int, uncertain: Int) {
        let now = self.backend.losses
        return (now.undelivered - self.before.undelivered, now.uncertain - self.before.uncertain)
    }
}

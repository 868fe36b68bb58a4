internal import FerryCore

/// The shutdown of a provider, after its handle was freed or at the end of the process. Any thread may use it.
final class Ending: Sendable {
    private struct State {
        var hasBegun = false
        var isOver = false
    }

    /// The longest time of the shutdown.
    let limit: Duration
    private let backend: Backend
    private let before: (undelivered: Int, uncertain: Int)
    private let state = Monitor(State())

    init(_ backend: Backend, within limit: Duration) {
        self.backend = backend
        self.limit = limit
        self.before = backend.losses
    }

    /// Begins the shutdown. `receive` is called once, on any thread, when all notifications have their outcomes. If
    /// the shutdown has begun before, nothing happens, and `receive` is never called.
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

    /// Waits until all notifications have their outcomes, for at most `milliseconds`.
    func wait(milliseconds: Int64) { _ = self.state.wait(milliseconds: milliseconds) { $0.isOver } }

    /// The numbers of the `undelivered` and of the `uncertain` outcomes since this object was made.
    var losses: (undelivered: Int, uncertain: Int) {
        let now = self.backend.losses
        return (now.undelivered - self.before.undelivered, now.uncertain - self.before.uncertain)
    }
}
